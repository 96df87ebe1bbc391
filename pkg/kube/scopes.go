package kube

import (
	"time"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/lasso/pkg/cache"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// managedSelector is the label that our own objects carry.
const managedSelector = names.ManagedLabel + "=true"

// notHelmReleases leaves out the Secrets in which Helm keeps its history: large, many, and none of the hub's business.
const notHelmReleases = "type!=helm.sh/release.v1"

// managedKinds are seen by the hub only where they carry the managed label. Without it the hub would keep every account,
// role and lease of its cluster in memory.
var managedKinds = []schema.GroupVersionKind{
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	rbacv1.SchemeGroupVersion.WithKind("Role"),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
	rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
}

// NeedsManagedLabel reports whether the hub's caches hold only the objects of that kind which are labelled as managed.
// One without the label is written and then never seen again: not repaired, not pruned.
func NeedsManagedLabel(gvk schema.GroupVersionKind) bool {
	for _, kind := range managedKinds {
		if kind == gvk {
			return true
		}
	}
	return false
}

// hubScopes says what the hub's caches hold: see managedKinds; ConfigMaps of the system namespace; Secrets but Helm's;
// all of everything else.
func hubScopes(systemNamespace string) *cache.SharedCacheFactoryOptions {
	tweaks := map[schema.GroupVersionKind]cache.TweakListOptionsFunc{
		corev1.SchemeGroupVersion.WithKind("Secret"): func(o *metav1.ListOptions) { o.FieldSelector = notHelmReleases },
	}
	for _, kind := range managedKinds {
		tweaks[kind] = func(o *metav1.ListOptions) { o.LabelSelector = managedSelector }
	}
	return &cache.SharedCacheFactoryOptions{
		// A factory's own option for a namespace has no effect beside a shared controller factory: this one has.
		KindNamespace: map[schema.GroupVersionKind]string{
			corev1.SchemeGroupVersion.WithKind("ConfigMap"): systemNamespace,
		},
		KindTweakList: tweaks,
	}
}

const (
	clusterRetryBase = 2 * time.Second
	clusterRetryMax  = 10 * time.Minute
)

// hubLimiters gives kinds a back-off of their own. There is no default for all kinds on purpose: lasso would share one
// limiter between them, by namespace and name alone, and a failing Cluster would slow the Bundle of the same name.
func hubLimiters() map[schema.GroupVersionKind]workqueue.TypedRateLimiter[any] {
	return map[schema.GroupVersionKind]workqueue.TypedRateLimiter[any]{
		fleet.SchemeGroupVersion.WithKind("Cluster"): workqueue.NewTypedItemExponentialFailureRateLimiter[any](clusterRetryBase, clusterRetryMax),
	}
}
