package config

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	hubconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
)

// patience is several times what a wait takes, and shorter than a look without a watch.
const patience = 10 * time.Second

// watched hands a watch to the test each time that somebody waits.
type watched struct {
	*controllertest.Controller[*corev1.ConfigMap, *corev1.ConfigMapList]
	watches chan *watch.FakeWatcher
	refuse  error
}

func (w *watched) Watch(string, metav1.ListOptions) (watch.Interface, error) {
	fake := watch.NewFake()
	w.watches <- fake
	return fake, w.refuse
}

// registering runs Register until it returns, and gives the watches that it waits with.
func registering(t *testing.T, ctx context.Context, w *world) (*watched, <-chan error) {
	t.Helper()
	maps := &watched{Controller: w.maps, watches: make(chan *watch.FakeWatcher)}
	deps := w.Deps
	deps.ConfigMaps = maps
	done := make(chan error, 1)
	go func() { done <- Register(ctx, deps) }()
	return maps, done
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		require.FailNow(t, "waited in vain")
		panic("unreachable")
	}
}

// The defaults are nobody's wish: acting on them would give each agent another image, and forget the hub's address.
func TestTheStartWaitsForAConfigurationThatCanBeRead(t *testing.T) {
	w := newWorld(t)
	maps, done := registering(t, t.Context(), w)
	for _, cm := range []*corev1.ConfigMap{document(version, "- a list"), document(version, " \n"), document(version, `{"apiServerURL": 5}`)} {
		waiting := receive(t, maps.watches)
		assert.Empty(t, done)
		w.maps.Add(cm)
		waiting.Modify(cm)
	}
	waiting := receive(t, maps.watches)
	assert.Equal(t, hubconfig.Default(version), w.Source.Get())
	good := document(version, `{"apiServerURL": "https://a"}`)
	w.maps.Add(good)
	waiting.Modify(good)
	require.NoError(t, receive(t, done))
	assert.Equal(t, "https://a", w.Source.Get().APIServerURL)
	assert.Empty(t, w.told, "subscribers are told when the controllers run")
}

func TestTheStartEndsWithItsContextWhateverItWaitsFor(t *testing.T) {
	for name, spoil := range map[string]func(*watched, *watch.FakeWatcher){
		"a watch":            func(*watched, *watch.FakeWatcher) {},
		"a watch that ended": func(_ *watched, f *watch.FakeWatcher) { f.Stop() },
		"a watch that fails": func(_ *watched, f *watch.FakeWatcher) { f.Error(&metav1.Status{}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(t.Context())
			maps, done := registering(t, ctx, w)
			spoil(maps, receive(t, maps.watches))
			select {
			case <-maps.watches:
				require.Fail(t, "it looks again at once: a hot loop")
			case <-time.After(50 * time.Millisecond): // the window in which nothing may happen
			}
			cancel()
			require.ErrorIs(t, receive(t, done), context.Canceled)
		})
	}
}

func TestAWatchThatIsRefusedIsNoHotLoop(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	maps := &watched{Controller: w.maps, watches: make(chan *watch.FakeWatcher), refuse: errors.New("forbidden")}
	w.Deps.ConfigMaps = maps
	done := make(chan error, 1)
	go func() { done <- Register(ctx, w.Deps) }()
	receive(t, maps.watches)
	select {
	case <-maps.watches:
		require.Fail(t, "it looks again at once: a hot loop")
	case <-time.After(50 * time.Millisecond): // the window in which nothing may happen
	}
	cancel()
	require.ErrorIs(t, receive(t, done), context.Canceled)
}
