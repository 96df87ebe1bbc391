package join

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// awaitComplete waits until all clusters of the workspace are registered, every credential Secret is gone, and every
// agent bundle is there.
func awaitComplete(ctx context.Context, h *bench.Hub, clusters int) error {
	client, err := metadata.NewForConfig(h.Hub.Config)
	if err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	return stage.AwaitEvery(ctx, bench.BetweenLooks, "the joins to be complete", func(ctx context.Context) (bool, string, error) {
		return complete(ctx, h, client, clusters)
	})
}

func complete(ctx context.Context, h *bench.Hub, client metadata.Interface, want int) (bool, string, error) {
	clusters, err := stage.List[fleet.Cluster](ctx, h.Hub, stage.Clusters, stage.Workspace)
	if err != nil {
		return false, "", err
	}
	registered, bundles := 0, 0
	for _, c := range clusters {
		if stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionRegistered) {
			registered++
		}
	}
	if registered < want {
		return false, fmt.Sprintf("%d of %d clusters are registered", registered, want), nil
	}
	credentials, err := named(ctx, client, secrets, stage.RegistrationNamespace)
	if err != nil {
		return false, "", err
	}
	for name := range credentials {
		if strings.HasPrefix(name, "c-") {
			return false, "Secret " + name + " is still there", nil
		}
	}
	have, err := named(ctx, client, stage.Bundles, metav1.NamespaceAll)
	if err != nil {
		return false, "", err
	}
	for _, c := range clusters {
		if have[names.AgentBundle(c.Name)] {
			bundles++
		}
	}
	return bundles >= want, fmt.Sprintf("%d of %d clusters have their agent bundle", bundles, want), nil
}

// named are the names of the objects of a kind.
func named(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, namespace string) (map[string]bool, error) {
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
	}
	out := map[string]bool{}
	for _, item := range list.Items {
		out[item.Name] = true
	}
	return out, nil
}
