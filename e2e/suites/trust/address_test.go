package trust_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// T13: the hub gets another address. Afterwards nothing on the cluster knows the old one.
func TestNoObjectOfAnAgentKeepsTheHubsOldAddress(t *testing.T) {
	b := ofTheBed(t)
	c := b.manage(t, "moved", nil)
	c.start(t)
	was := c.joins(t)
	old := strings.TrimPrefix(b.front.URL(), "https://")
	require.NotEmpty(t, c.mentions(t, old), "an object that names the address is found")

	require.NoError(t, b.front.Move())
	b.configured(t, nil)
	c.joinsAgain(t, was)
	await(t, "the old address "+old+" to be gone from the cluster", func(context.Context) (bool, string, error) {
		found := c.mentions(t, old)
		return len(found) == 0, strings.Join(found, ", "), nil
	})
	require.NotEmpty(t, c.mentions(t, strings.TrimPrefix(b.front.URL(), "https://")))
}

// mentions are the objects in the agent's namespace, and the cluster-scoped ones, that hold a text, in a Secret as well.
// Events are left out: they tell what was.
func (c *cluster) mentions(t *testing.T, text string) (found []string) {
	t.Helper()
	lists, err := c.edge.Kube.Discovery().ServerPreferredResources()
	require.NoError(t, err)
	config := rest.CopyConfig(c.edge.Config)
	config.WarningHandler = rest.NoWarnings{} // all kinds are listed, those among them that will go one day
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, resource := range list.APIResources {
			if resource.Kind == "Event" || resource.Kind == "ComponentStatus" || !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects, err := client.Resource(gv.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			for _, obj := range objects.Items {
				if (obj.GetNamespace() == c.agents || obj.GetNamespace() == "") && holds(obj, text) {
					found = append(found, fmt.Sprintf("%s %s/%s", resource.Kind, obj.GetNamespace(), obj.GetName()))
				}
			}
		}
	}
	return found
}

func holds(obj unstructured.Unstructured, text string) bool {
	raw, err := obj.MarshalJSON()
	if err != nil || strings.Contains(string(raw), text) {
		return true
	}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	for _, value := range data {
		if decoded, err := base64.StdEncoding.DecodeString(value); err == nil && strings.Contains(string(decoded), text) {
			return true
		}
	}
	return false
}
