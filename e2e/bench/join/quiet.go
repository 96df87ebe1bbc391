package join

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// betweenLooks is the pause between two looks, which cost the hub something.
	betweenLooks = 500 * time.Millisecond
	// stillness is how long nothing may be written until the hub counts as quiet.
	stillness = 3 * time.Second
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// awaitQuiet waits until all clusters of the workspace are registered, every credential Secret is gone, every agent
// bundle is there, and nothing is written any more.
func awaitQuiet(ctx context.Context, h *bench.Hub, clusters int) (count.Counts, error) {
	cfg := rest.CopyConfig(h.Hub.Config)
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	err = stage.AwaitEvery(ctx, betweenLooks, "the joins to be complete", func(ctx context.Context) (bool, string, error) {
		return complete(ctx, h, client, clusters)
	})
	if err != nil {
		return nil, err
	}
	return awaitStillness(ctx, h)
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

// awaitStillness waits until no request of others has written anything for a while, and returns all requests so far.
func awaitStillness(ctx context.Context, h *bench.Hub) (count.Counts, error) {
	var last count.Counts
	since := time.Now()
	err := stage.AwaitEvery(ctx, betweenLooks, "the hub to be quiet", func(context.Context) (bool, string, error) {
		now, err := count.ReadAuditLog(h.AuditLog())
		if err != nil {
			return false, "", err
		}
		fresh := hubWrites(now.Sub(last))
		last = now
		if fresh.Total() > 0 {
			since = time.Now()
		}
		return time.Since(since) >= stillness, fresh.String(), nil
	})
	return last, err
}
