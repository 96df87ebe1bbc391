package clusterimport

import (
	"context"
	"fmt"
	"sync"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	handlerName      = "fleet-import"
	clustersBySecret = "fleet.import.clusters-by-secret"
	clustersByToken  = "fleet.import.clusters-by-token"
	// workers is how many foreign clusters are called at the same time.
	workers = 50
	// callTimeout bounds each call to a foreign cluster.
	callTimeout = 15 * time.Second
	// importPatience bounds all that is done about one cluster at one time. An import makes dozens of calls: with their own
	// bounds alone, a cluster that answers each of them in the last second would hold a worker for many minutes.
	importPatience = 2 * time.Minute
	retryFirst     = 2 * time.Second
	retryLast      = 10 * time.Minute
	// importTokenTTL is how long an agent may take to use what it was given.
	importTokenTTL = 12 * time.Hour
)

// Deps is what this controller works with.
type Deps struct {
	Clusters fleetv1.ClusterController
	Tokens   fleetv1.ClusterRegistrationTokenController
	Bundles  fleetv1.BundleClient
	Secrets  core.SecretController
	Accounts core.ServiceAccountController
	Clients  kubernetes.Interface
	Config   *config.Source
	// Settings are those of all agents, from configuration and environment.
	Settings func(config.Config) agentmanifest.Settings
	Names    names.Namespaces
	Clock    clock.PassiveClock
	// Presence is the hub's own touch with its API server; nil never ends.
	Presence *kube.Presence
	// HubUID is the UID of the hub's kube-system namespace.
	HubUID string
	// UserAgent names the hub to the clusters that it calls.
	UserAgent string
	// Ended is told how each attempt at an import ended: "" for well, else the reason that condition Imported has. An attempt
	// that waits for its token, that was overtaken, or that this hub cuts off, has no end. It may be left out.
	Ended func(reason string)
}

type handler struct {
	Deps
	queue *kube.Queue

	mu sync.Mutex
	// seen is, for each cluster, what the last look rested on: only a change of that feeds the queue.
	seen map[string]string
	// waiting is, for each cluster whose place another Cluster has, for whom it waits.
	waiting map[string]wait

	// recent are the Clusters as this controller wrote them last. A decision on an older one would import a second time.
	recent *kube.Recent[*fleet.Cluster]
	// patience is importPatience unless a test says otherwise.
	patience time.Duration
}

// Register starts the controller with the factories behind deps. The returned function works on foreign clusters until
// its context ends.
func Register(ctx context.Context, deps Deps) func(context.Context) {
	h := newHandler(deps)
	h.queue = kube.NewQueue(handlerName, workers, retryFirst, retryLast, h.work)
	addIndexers(deps)
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	now := kube.Debounced(deps.Clusters, 0)
	kube.Watch(ctx, handlerName+"-secrets", h.clustersOfSecret, now, deps.Secrets)
	kube.Watch(ctx, handlerName+"-tokens", h.clustersOfToken, now, deps.Tokens)
	kube.Watch(ctx, handlerName+"-accounts", h.clusterOfAccount, now, deps.Accounts)
	kube.Watch(ctx, handlerName+"-holders", h.clustersWaitingFor, now, deps.Clusters)
	deps.Config.Subscribe(handlerName, h.onConfig)
	return h.queue.Run
}

func newHandler(deps Deps) *handler {
	return &handler{
		Deps: deps, seen: map[string]string{}, waiting: map[string]wait{}, recent: kube.NewRecent[*fleet.Cluster](),
		patience: importPatience,
	}
}

func addIndexers(deps Deps) {
	deps.Clusters.Cache().AddIndexer(clustersByToken, func(c *fleet.Cluster) ([]string, error) {
		return []string{c.Namespace + "/" + names.ImportToken(c.Name)}, nil
	})
	deps.Clusters.Cache().AddIndexer(clustersBySecret, func(c *fleet.Cluster) ([]string, error) {
		if c.Spec.KubeConfigSecret == "" {
			return nil, nil
		}
		return []string{registration.KubeconfigSecretNamespace(c) + "/" + c.Spec.KubeConfigSecret}, nil
	})
}

func (h *handler) onChange(key string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	if cluster == nil || cluster.DeletionTimestamp != nil {
		h.forget(key)
		return cluster, nil
	}
	// A handler before this one may pass on what it has just written. The queue works on what the cache shows, and would
	// take the old for the new: what was written has an event of its own.
	shown, err := h.Clusters.Cache().Get(cluster.Namespace, cluster.Name)
	if apierrors.IsNotFound(err) || err == nil && shown.ResourceVersion != cluster.ResourceVersion {
		return cluster, nil
	}
	if err != nil {
		return cluster, fmt.Errorf("cluster %s: reading it: %w", key, err)
	}
	f, err := h.observe(cluster)
	if err != nil {
		return cluster, fmt.Errorf("cluster %s: %w", key, err)
	}
	if h.changed(key, f) {
		h.queue.Forget(key)
		h.queue.Add(key)
	}
	return cluster, nil
}

func (h *handler) forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, key)
	delete(h.waiting, key)
	h.queue.Forget(key)
}

// changed compares what a decision rests on with what the last one did. A failed import writes a condition, which is a
// change of the Cluster, but none that makes another try worth while before its time.
func (h *handler) changed(key string, f facts) bool {
	now := fingerprint(f, h.tokenVersion(f.cluster)) + h.awaited(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[key] == now {
		return false
	}
	h.seen[key] = now
	return true
}
