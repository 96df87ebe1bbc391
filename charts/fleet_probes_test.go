package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

var linuxToleration = corev1.Toleration{Key: "cattle.io/os", Operator: "Equal", Value: "linux", Effect: "NoSchedule"}

// hubConfigMap is the configuration of a hub in the default namespace.
func hubConfigMap(t *testing.T, r rendered) *corev1.ConfigMap {
	t.Helper()
	return find[*corev1.ConfigMap](t, r, names.DefaultSystemNamespace, names.ControllerConfigMap)
}

// versionAnnotation expects the configuration to be meant for a version.
func versionAnnotation(want string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		assert.Equal(t, map[string]string{names.VersionAnnotation: want}, hubConfigMap(t, r).Annotations)
	}
}

func extraLabels(t *testing.T, r rendered) {
	t.Helper()
	d := deployment(t, r)
	want := map[string]string{
		"app": "fleet-controller", "fleet.cattle.io/shard-id": "", "fleet.cattle.io/shard-default": "true", "team": "a",
	}
	assert.Equal(t, want, d.Labels)
	assert.Equal(t, want, d.Spec.Template.Labels)
	assert.Equal(t, map[string]string{"app": "fleet-controller", "fleet.cattle.io/shard-id": ""}, d.Spec.Selector.MatchLabels)
}

func extraAnnotations(t *testing.T, r rendered) {
	t.Helper()
	d := deployment(t, r)
	assert.Equal(t, map[string]string{"team": "a"}, d.Annotations)
	assert.Equal(t, map[string]string{"team": "a"}, d.Spec.Template.Annotations)
}

func noMetrics(t *testing.T, r rendered) {
	t.Helper()
	assert.NotContains(t, r.list(), "Service/cattle-fleet-system/monitoring-fleet-controller")
	for _, port := range container(t, r).Ports {
		assert.NotEqual(t, "metrics", port.Name)
	}
}

func noBootstrapAccount(t *testing.T, r rendered) {
	t.Helper()
	for _, key := range r.list() {
		assert.NotContains(t, key, "bootstrap")
	}
}
