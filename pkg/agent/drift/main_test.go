package drift

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// ourHash is the label of the bundle in these tests.
const ourHash = "0123456789"

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.PanicLevel)
	goleak.VerifyTestMain(m)
}

// clusterScoped are the kinds of these tests that have no namespace.
var clusterScoped = []string{"Namespace", "ClusterRole", "CustomResourceDefinition", "MutatingWebhookConfiguration",
	"ValidatingWebhookConfiguration", "APIService"}

func scope(kind schema.GroupVersionKind) bool {
	for _, name := range clusterScoped {
		if kind.Kind == name {
			return false
		}
	}
	return true
}

// objects reads a document with several objects.
func objects(t testing.TB, document string) (result []*unstructured.Unstructured) {
	t.Helper()
	for _, part := range strings.Split(document, "\n---\n") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(part))
		require.NoError(t, err, part)
		obj := &unstructured.Unstructured{}
		require.NoError(t, obj.UnmarshalJSON(raw), part)
		result = append(result, obj)
	}
	return result
}

// ours gives objects the bundle's label.
func ours(list []*unstructured.Unstructured) []*unstructured.Unstructured {
	for _, obj := range list {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		if _, others := labels[HashLabel]; !others {
			labels[HashLabel] = ourHash
		}
		obj.SetLabels(labels)
	}
	return list
}

func options(t testing.TB, document string) (result fleet.BundleDeploymentOptions) {
	t.Helper()
	require.NoError(t, yaml.UnmarshalStrict([]byte(document), &result), document)
	return result
}

func split(kind string) (apiVersion, name string) {
	apiVersion, name, _ = strings.Cut(kind, " ")
	return apiVersion, name
}

// objectOf is an object of ours with that content.
func objectOf(t testing.TB, content map[string]any, apiVersion, kind string) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(content)
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, utiljson.Unmarshal(raw, &obj.Object))
	if obj.Object == nil {
		obj.Object = map[string]any{}
	}
	if _, ok := obj.Object["metadata"].(map[string]any); !ok {
		obj.Object["metadata"] = map[string]any{}
	}
	for _, field := range []string{"labels", "annotations"} {
		if obj.Object["metadata"].(map[string]any)[field] != nil {
			_ = unstructured.SetNestedStringMap(obj.Object, map[string]string{"x": "y"}, "metadata", field)
		}
	}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName("a")
	obj.SetNamespace("default")
	obj.SetLabels(map[string]string{HashLabel: ourHash})
	return obj
}

func objectsOf(list ...*unstructured.Unstructured) []*unstructured.Unstructured { return list }
