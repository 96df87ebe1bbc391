package config

import (
	"context"
	"errors"
	"strings"
	"testing"

	logrustest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

const version = "v1"

// world is a hub in memory with this controller.
type world struct {
	*handler
	maps *controllertest.Controller[*corev1.ConfigMap, *corev1.ConfigMapList]
	// told is what a subscriber heard; it fails with refuse.
	told   []string
	refuse error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{maps: controllertest.New[*corev1.ConfigMap, *corev1.ConfigMapList]("", "configmaps")}
	w.handler = &handler{
		Deps: Deps{ConfigMaps: w.maps, Source: hubconfig.NewSource(version), Names: names.NamespacesOf(names.DefaultSystemNamespace)},
		ctx:  t.Context(),
		due:  true,
	}
	w.Source.Subscribe("test", func(_ context.Context, c hubconfig.Config) error {
		w.told = append(w.told, c.APIServerURL)
		return w.refuse
	})
	return w
}

func document(of, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.ControllerConfigMap, Namespace: names.DefaultSystemNamespace,
			Annotations: map[string]string{names.VersionAnnotation: of},
		},
		Data: map[string]string{names.ConfigKey: text},
	}
}

// event puts a document into the API server and runs the handler for it.
func (w *world) event(cm *corev1.ConfigMap) error {
	if cm == nil {
		_, err := w.onChange(names.DefaultSystemNamespace+"/"+names.ControllerConfigMap, nil)
		return err
	}
	w.maps.Add(cm)
	_, err := w.onChange(cm.Namespace+"/"+cm.Name, w.maps.Live(cm.Namespace, cm.Name))
	return err
}

func TestConfigurationIsInForceWhenRegisterReturns(t *testing.T) {
	w := newWorld(t)
	w.maps.Add(document(version, `{"apiServerURL": "https://a"}`))
	require.NoError(t, Register(t.Context(), w.Deps))
	assert.Equal(t, "https://a", w.Source.Get().APIServerURL)
	assert.Empty(t, w.told, "nothing runs before the controllers do")
	_, queued := w.maps.After(names.DefaultSystemNamespace, names.ControllerConfigMap)
	assert.True(t, queued, "subscribers are told once, with or without a ConfigMap")
}

func TestUnreadableConfigMapFailsTheStart(t *testing.T) {
	w := newWorld(t)
	w.maps.Fail = func(string, string) error { return errors.New("timeout") }
	require.ErrorContains(t, Register(t.Context(), w.Deps), "timeout")
}

func TestSubscribersHearOfChangesOnly(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.event(document(version, `{"apiServerURL": "https://a"}`)))
	require.NoError(t, w.event(document(version, `{"apiServerURL": "https://a"}`)))
	labelled := document(version, `{"apiServerURL": "https://a"}`)
	labelled.Labels = map[string]string{"a": "b"}
	require.NoError(t, w.event(labelled))
	assert.Equal(t, []string{"https://a"}, w.told)
	require.NoError(t, w.event(document(version, `{"apiServerURL": "https://b"}`)))
	assert.Equal(t, []string{"https://a", "https://b"}, w.told)
}

func TestDeletionAndOtherVersionsKeepWhatIsInForce(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.event(document(version, `{"apiServerURL": "https://a"}`)))
	require.NoError(t, w.event(nil))
	require.NoError(t, w.event(document("v2", `{"apiServerURL": "https://b"}`)))
	require.NoError(t, w.event(document(version, "")))
	require.NoError(t, w.event(document(version, "- a list")))
	assert.Equal(t, "https://a", w.Source.Get().APIServerURL)
	assert.Len(t, w.told, 1)
}

func TestOtherConfigMapsAreIgnored(t *testing.T) {
	w := newWorld(t)
	other := document(version, `{"apiServerURL": "https://b"}`)
	other.Namespace = "default"
	require.NoError(t, w.event(other))
	other.Namespace, other.Name = names.DefaultSystemNamespace, "fleet-controller-2"
	require.NoError(t, w.event(other))
	assert.Empty(t, w.told)
	assert.Empty(t, w.Source.Get().APIServerURL)
}

func TestSubscriberThatFailsIsCalledAgain(t *testing.T) {
	w := newWorld(t)
	w.refuse = errors.New("not now")
	cm := document(version, `{"apiServerURL": "https://a"}`)
	require.ErrorIs(t, w.event(cm), w.refuse)
	require.ErrorIs(t, w.event(cm), w.refuse)
	w.refuse = nil
	require.NoError(t, w.event(cm))
	require.NoError(t, w.event(cm))
	assert.Len(t, w.told, 3)
}

func TestAChangeThatWasTakenByHalfIsTakenBackByAll(t *testing.T) {
	w := newWorld(t)
	a, b := document(version, `{"apiServerURL": "https://a"}`), document(version, `{"apiServerURL": "https://b"}`)
	require.NoError(t, w.event(a))
	w.refuse = errors.New("not now")
	require.Error(t, w.event(b))
	w.refuse = nil
	require.NoError(t, w.event(a))
	assert.Equal(t, []string{"https://a", "https://b", "https://a"}, w.told)
}

func TestWarningsAreLoggedOnceForEachState(t *testing.T) {
	hook := logrustest.NewGlobal()
	defer hook.Reset()
	w := newWorld(t)
	w.refuse = errors.New("not now")
	cm := document(version, `{"gitClientTimeout": "1d"}`)
	w.maps.Add(cm)
	live := w.maps.Live(cm.Namespace, cm.Name)
	for range 3 {
		_, err := w.onChange(cm.Namespace+"/"+cm.Name, live)
		require.Error(t, err)
	}
	assert.Equal(t, 1, count(hook, "gitClientTimeout"))
	require.Error(t, w.event(cm))
	assert.Equal(t, 2, count(hook, "gitClientTimeout"), "it was written again")
}

func count(hook *logrustest.Hook, part string) int {
	n := 0
	for _, entry := range hook.AllEntries() {
		if strings.Contains(entry.Message, part) {
			n++
		}
	}
	return n
}
