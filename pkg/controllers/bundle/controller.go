package bundle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-bundle"

const (
	// maxWrites bounds how many deployments are written at once, for all bundles together, and bundleWrites for one.
	maxWrites, bundleWrites = 32, 16
	// remembered bounds how many of them are known before the cache shows them.
	remembered = 16384
	// rememberedFor is how long the cache may be behind with them.
	rememberedFor = 2 * time.Minute
	// rememberedIDs bounds for how many bundles the digest of their resources is known.
	rememberedIDs = 1024
	// rememberIDs is for how long.
	rememberIDs = time.Hour
)

// Deps is what this controller works with.
type Deps struct {
	Bundles      fleetv1.BundleController
	Deployments  fleetv1.BundleDeploymentController
	Contents     fleetv1.ContentController
	Clusters     fleetv1.ClusterController
	Groups       fleetv1.ClusterGroupController
	Mappings     fleetv1.BundleNamespaceMappingController
	Restrictions fleetv1.GitRepoRestrictionController
	Namespaces   core.NamespaceController
	Secrets      core.SecretController
	ConfigMaps   core.ConfigMapClient
	Sources      Sources
	Definition   Definition
	// Agents knows which specs of agents' bundles are the hub's own.
	Agents *agentbundle.Ledger
	Clock  clock.PassiveClock
}

type handler struct {
	Deps
	deployments *kube.Recent[*fleet.BundleDeployment]
	secrets     *kube.Recent[*corev1.Secret]
	// contents are remembered without what is in them.
	contents  *kube.Recent[*fleet.Content]
	manifests *cache.LRUExpireCache
	slots     chan struct{}
	waker     *kube.Waker
	// settled is, by the UID of each deployment, what it was last found to be in order for.
	settled sync.Map
	// looked is, by the UID of each deployment, for which version of it the ConfigMaps that it needs were read.
	looked sync.Map
	// sizes is how many clusters each bundle had when it was looked at last.
	sizes sync.Map
	// reported is when the status of each bundle was written last.
	reported sync.Map
	// missing is since when a bundle is gone that left something behind, kept what was found to stay of it.
	missing, kept sync.Map
	// behind is how long a bundle waits if something of it is not as the cache has it once more.
	behind sync.Map
	// swept is, by the namespace of each cluster, when copies that nobody needs were looked for there.
	swept sync.Map
}

func newHandler(deps Deps) *handler {
	return &handler{
		Deps:        deps,
		deployments: kube.NewRecentOf[*fleet.BundleDeployment](remembered, rememberedFor),
		secrets:     kube.NewRecentOf[*corev1.Secret](remembered, rememberedFor),
		contents:    kube.NewRecent[*fleet.Content](),
		manifests:   cache.NewLRUExpireCache(rememberedIDs),
		slots:       make(chan struct{}, maxWrites),
		waker:       kube.NewWaker(deps.Bundles.EnqueueAfter),
	}
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := newHandler(deps)
	h.addIndexers()
	deps.Agents.OnWritten(h.wakeAgentBundle)
	deps.Bundles.OnChange(ctx, handlerName, h.onChange)
	h.watch(ctx)
	kube.Sweep(ctx, kube.SweepInterval, deps.Bundles.Cache().List, deps.Bundles.EnqueueAfter)
}

func (h *handler) onChange(key string, bundle *fleet.Bundle) (*fleet.Bundle, error) {
	h.waker.Started()
	if bundle == nil {
		return nil, h.bury(key)
	}
	if bundle.DeletionTimestamp != nil {
		if err := h.leave(bundle); err != nil {
			return bundle, fmt.Errorf("deleting bundle %s: %w", key, err)
		}
		return bundle, nil
	}
	h.seen(key)
	if !slices.Contains(bundle.Finalizers, names.BundleFinalizer) {
		updated := bundle.DeepCopy()
		updated.Finalizers = append(updated.Finalizers, names.BundleFinalizer)
		if _, err := h.Bundles.Update(updated); err != nil {
			if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
				return bundle, nil // somebody else's write, whose event brings it back
			}
			return bundle, fmt.Errorf("adding the finalizer to bundle %s: %w", key, err)
		}
		return bundle, nil // its own event goes on with it
	}
	if err := h.deploy(bundle); err != nil {
		return bundle, fmt.Errorf("bundle %s: %w", key, err)
	}
	return bundle, nil
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
