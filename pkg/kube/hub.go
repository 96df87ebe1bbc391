package kube

import (
	"context"
	"fmt"

	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"github.com/rancher/lasso/pkg/controller"
	"github.com/rancher/wrangler/v3/pkg/apply"
	coordinationv1 "github.com/rancher/wrangler/v3/pkg/generated/controllers/coordination.k8s.io/v1"
	corev1 "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	rbacv1 "github.com/rancher/wrangler/v3/pkg/generated/controllers/rbac/v1"
	"github.com/rancher/wrangler/v3/pkg/schemes"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// DefaultWorkers is how many keys of one kind are worked on at once.
const DefaultWorkers = 50

// ApplyRate, given to an apply engine, switches the apply engine's own limit off (one apply a second for each set, and the worker waits meanwhile).
const ApplyRate = 1e6

// HubOptions are what a hub needs to know of its surroundings.
type HubOptions struct {
	// SystemNamespace is where the controller runs, and the only namespace whose ConfigMaps it sees.
	SystemNamespace string
	// UserAgent names the process to the API server.
	UserAgent string
	// Workers for each kind, DefaultWorkers if 0. KindWorkers are those of single kinds.
	Workers     int
	KindWorkers map[schema.GroupVersionKind]int
}

// Hub is everything that the hub's controllers share: clients, cached controllers, the apply engine. All kinds hang on one
// controller factory, so there is one cache for each kind, with the scope that hubScopes gives it.
type Hub struct {
	Config       *rest.Config
	Clients      kubernetes.Interface
	Dynamic      dynamic.Interface
	Controllers  controller.SharedControllerFactory
	Fleet        fleetv1.Interface
	Core         corev1.Interface
	RBAC         rbacv1.Interface
	Coordination coordinationv1.Interface
	// Apply is the root of the apply sets: see pkg/desired. Nothing may be set on it, as what is set may be shared.
	Apply apply.Apply

	options HubOptions
	caches  *caches
}

// NewHub builds the hub's clients. Nothing is sent before Start, and what is not asked for until then is not cached.
func NewHub(_ context.Context, cfg *rest.Config, opts HubOptions) (*Hub, error) {
	if opts.SystemNamespace == "" {
		return nil, fmt.Errorf("the hub needs the namespace that it runs in (--namespace)")
	}
	if opts.Workers <= 0 {
		opts.Workers = DefaultWorkers
	}
	cfg = hubConfig(cfg, opts.UserAgent)
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("hub clients: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("hub clients: %w", err)
	}
	clientFactory, err := client.NewSharedClientFactory(cfg, &client.SharedClientFactoryOptions{Scheme: schemes.All})
	if err != nil {
		return nil, fmt.Errorf("hub clients: %w", err)
	}
	scopes := hubScopes(opts.SystemNamespace)
	hubCaches := newCaches(cache.NewSharedCachedFactory(alwaysHealthy{clientFactory}, scopes), scopes)
	controllers := controller.NewSharedControllerFactory(hubCaches, &controller.SharedControllerFactoryOptions{
		DefaultWorkers:         opts.Workers,
		KindWorkers:            opts.KindWorkers,
		KindRateLimiter:        hubLimiters(),
		SyncOnlyChangedObjects: true,
	})
	return &Hub{
		Config:       cfg,
		Clients:      clients,
		Dynamic:      dyn,
		Controllers:  controllers,
		Fleet:        fleetv1.New(controllers),
		Core:         corev1.New(controllers),
		RBAC:         rbacv1.New(controllers),
		Coordination: coordinationv1.New(controllers),
		Apply:        NewApply(clients.Discovery(), dyn),
		options:      opts,
		caches:       hubCaches,
	}, nil
}

// hubConfig is cfg with what every client of the hub needs, even if it did not come from RESTConfig.
func hubConfig(cfg *rest.Config, userAgent string) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	if userAgent != "" {
		cfg.UserAgent = userAgent
	}
	unlimited(cfg)
	if cfg.Timeout > 0 || cfg.WrapTransport == nil {
		WithCallTimeout(cfg, CallTimeout)
	}
	return cfg
}

// NewApply is the root of an apply engine over the given clients, without its rate limit.
func NewApply(disco discovery.DiscoveryInterface, dyn dynamic.Interface) apply.Apply {
	return apply.New(disco, func(gvr schema.GroupVersionResource) (dynamic.NamespaceableResourceInterface, error) {
		return dyn.Resource(gvr), nil
	}).WithRateLimiting(ApplyRate)
}
