package charts

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

// probe looks at one thing in a rendering.
type probe func(t *testing.T, r rendered)

// all makes one probe of several.
func all(probes ...probe) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		for _, p := range probes {
			p(t, r)
		}
	}
}

// deployment returns the only Deployment of a rendering.
func deployment(t *testing.T, r rendered) *appsv1.Deployment {
	t.Helper()
	var found []*appsv1.Deployment
	for _, object := range r.objects {
		if d, ok := object.(*appsv1.Deployment); ok {
			found = append(found, d)
		}
	}
	require.Len(t, found, 1)
	require.Len(t, found[0].Spec.Template.Spec.Containers, 1, "every Deployment has exactly one container")
	return found[0]
}

func pod(t *testing.T, r rendered) corev1.PodSpec {
	t.Helper()
	return deployment(t, r).Spec.Template.Spec
}

func container(t *testing.T, r rendered) corev1.Container {
	t.Helper()
	return pod(t, r).Containers[0]
}

// env expects a variable, exactly once, with a value.
func env(name, want string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		var got []string
		for _, variable := range container(t, r).Env {
			if variable.Name == name {
				got = append(got, variable.Value)
			}
		}
		assert.Equal(t, []string{want}, got, "environment variable %s", name)
	}
}

// noEnv expects that a variable is not set.
func noEnv(name string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		for _, variable := range container(t, r).Env {
			assert.NotEqual(t, name, variable.Name)
		}
	}
}

// onPod hands the pod to a check.
func onPod(check func(t *testing.T, p corev1.PodSpec)) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		check(t, pod(t, r))
	}
}

// args expects the container's arguments; none is nil.
func args(want ...string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		assert.Equal(t, want, container(t, r).Args)
	}
}

// image expects the container's image.
func image(want string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		assert.Equal(t, want, container(t, r).Image)
	}
}

// replicas expects the Deployment's replicas.
func replicas(want int32) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		require.NotNil(t, deployment(t, r).Spec.Replicas)
		assert.Equal(t, want, *deployment(t, r).Spec.Replicas)
	}
}

// configText returns a JSON document of the chart's ConfigMap.
func configText(t *testing.T, r rendered, key string) string {
	t.Helper()
	var found []*corev1.ConfigMap
	for _, object := range r.objects {
		if c, ok := object.(*corev1.ConfigMap); ok {
			found = append(found, c)
		}
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0].Data, key)
	return found[0].Data[key]
}

func document(t *testing.T, r rendered, key string) map[string]any {
	t.Helper()
	var content map[string]any
	require.NoError(t, json.Unmarshal([]byte(configText(t, r, key)), &content), "the document is JSON")
	return content
}

// inDocument expects a value at a path of a JSON document; want is JSON, or empty where there must be no such key.
func inDocument(key, want string, path ...string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		content := document(t, r, key)
		for _, step := range path[:len(path)-1] {
			next, ok := content[step].(map[string]any)
			require.Truef(t, ok, "%v: no mapping at %s", path, step)
			content = next
		}
		got, found := content[path[len(path)-1]]
		if want == "" {
			assert.Falsef(t, found, "%v is %v", path, got)
			return
		}
		require.Truef(t, found, "%v is missing", path)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(text), "%v", path)
	}
}

// config expects a value in the configuration; want is JSON, or empty where there must be no such key.
func config(want string, path ...string) probe {
	return inDocument(names.ConfigKey, want, path...)
}
