package config

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// configMap is the hub's ConfigMap; an empty version leaves the annotation out.
func configMap(version, document string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "cattle-fleet-system", Name: names.ControllerConfigMap},
		Data:       map[string]string{names.ConfigKey: document},
	}
	if version != "" {
		cm.Annotations = map[string]string{names.VersionAnnotation: version}
	}
	return cm
}

func TestFirstLoadTakesAnyVersion(t *testing.T) {
	for _, version := range []string{"", testVersion, "v9.9.9"} {
		source := NewSource(testVersion)
		loaded, err := source.Load(configMap(version, "agentImage: a"))
		require.NoError(t, err)
		assert.Empty(t, loaded.Ignored)
		assert.Equal(t, "a", source.Get().AgentImage, "annotation %q", version)
	}
}

// A21: while an upgrade rolls, the old hub must not act on the configuration of the new one.
func TestLaterLoadsOfAnotherVersionAreIgnored(t *testing.T) {
	source := NewSource(testVersion)
	_, err := source.Load(configMap(testVersion, "agentImage: a"))
	require.NoError(t, err)
	for _, version := range []string{"", "v9.9.9", testVersion + " "} {
		loaded, err := source.Load(configMap(version, "agentImage: b"))
		require.NoError(t, err)
		assert.Contains(t, loaded.Ignored, names.VersionAnnotation, "annotation %q", version)
		assert.Equal(t, "a", source.Get().AgentImage, "annotation %q", version)
	}
	loaded, err := source.Load(configMap(testVersion, "agentImage: b"))
	require.NoError(t, err)
	assert.Empty(t, loaded.Ignored)
	assert.Equal(t, "b", source.Get().AgentImage)
}

func TestDeletedAndEmptyConfigMapsKeepWhatIsInForce(t *testing.T) {
	source := NewSource(testVersion)
	loaded, err := source.Load(nil)
	require.NoError(t, err)
	assert.NotEmpty(t, loaded.Ignored)
	assert.Equal(t, Default(testVersion), source.Get(), "nothing was loaded yet")

	_, err = source.Load(configMap(testVersion, "agentImage: a"))
	require.NoError(t, err)
	withoutKey := configMap(testVersion, "")
	withoutKey.Data = nil
	for _, cm := range []*corev1.ConfigMap{nil, withoutKey, configMap(testVersion, ""), configMap(testVersion, " \n\t")} {
		loaded, err := source.Load(cm)
		require.NoError(t, err)
		assert.NotEmpty(t, loaded.Ignored)
		assert.Equal(t, "a", source.Get().AgentImage)
	}
}

// Nobody has said anything yet: an empty document is no wish for the defaults, an empty mapping is.
func TestFirstLoadOfAnEmptyConfigMapSaysNothing(t *testing.T) {
	source := NewSource(testVersion)
	loaded, err := source.Load(configMap("", ""))
	require.NoError(t, err)
	assert.NotEmpty(t, loaded.Ignored)
	loaded, err = source.Load(configMap("", "{}"))
	require.NoError(t, err)
	assert.Empty(t, loaded.Ignored)
	assert.Equal(t, Default(testVersion), source.Get())
}

func TestUnreadableDocumentsKeepWhatIsInForceAndNameTheConfigMap(t *testing.T) {
	source := NewSource(testVersion)
	_, err := source.Load(configMap(testVersion, "- a"))
	require.ErrorContains(t, err, `ConfigMap cattle-fleet-system/fleet-controller, key "config"`)
	assert.Equal(t, Default(testVersion), source.Get())

	loaded, err := source.Load(configMap("v9.9.9", "agentImage: a\nagentCheckinInterval: 1d"))
	require.NoError(t, err, "what failed did not count as loaded")
	assert.Len(t, loaded.Warnings, 1)

	_, err = source.Load(configMap(testVersion, "- a"))
	require.Error(t, err)
	assert.Equal(t, "a", source.Get().AgentImage)
}

// A key that was taken out of the document falls back to the default, not to the value before.
func TestEveryLoadStartsFromTheDefaults(t *testing.T) {
	source := NewSource(testVersion)
	_, err := source.Load(configMap(testVersion, "labels: {a: b}\nagentImage: a"))
	require.NoError(t, err)
	_, err = source.Load(configMap(testVersion, "labels: {c: d}"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"c": "d"}, source.Get().Labels)
	assert.Equal(t, Default(testVersion).AgentImage, source.Get().AgentImage)
}

func TestSubscribersRunInOrderAndFailAlone(t *testing.T) {
	source := NewSource(testVersion)
	one, three := errors.New("no bootstrap"), errors.New("no cluster")
	var calls []string
	subscribe := func(name string, err error) {
		source.Subscribe(name, func(_ context.Context, c Config) error {
			calls = append(calls, name+" "+c.AgentImage)
			return err
		})
	}
	subscribe("bootstrap", one)
	subscribe("import", nil)
	subscribe("local", three)
	require.Empty(t, calls, "a subscription is no call")

	_, err := source.Load(configMap(testVersion, "agentImage: a"))
	require.NoError(t, err)
	err = source.Notify(t.Context())
	assert.Equal(t, []string{"bootstrap a", "import a", "local a"}, calls)
	assert.ErrorIs(t, err, one)
	assert.ErrorIs(t, err, three)
	assert.ErrorContains(t, err, "bootstrap: no bootstrap")
	assert.ErrorContains(t, err, "local: no cluster")
}

func TestNotifyWithoutSubscribers(t *testing.T) {
	assert.NoError(t, NewSource(testVersion).Notify(t.Context()))
}

// The race detector of the test script looks at this one.
func TestSourceIsSafeToShare(t *testing.T) {
	source := NewSource(testVersion)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			source.Subscribe("s", func(context.Context, Config) error { return nil })
			_, err := source.Load(configMap(testVersion, "agentImage: a"))
			assert.NoError(t, err)
			assert.NoError(t, source.Notify(t.Context()))
			assert.Equal(t, "a", source.Get().AgentImage)
		})
	}
	group.Wait()
}
