package clusterstatus

import (
	"context"
	"fmt"
	"sync"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	handlerName = "fleet-cluster-status"
	// gather is how long what there is to tell of a cluster is gathered: a hundred bundles that become ready together are
	// one write, and other controllers write into the same status while a cluster joins.
	gather = time.Second
	// joining is how long of a cluster whose agent has not reported yet; its other conditions say what it waits for.
	joining = 6 * time.Second
	// arriving is how long of one whose agent has just reported: its first bundle is on the way.
	arriving = 3 * time.Second
	// pause is how long a cluster whose bundles are under way rests between two writes.
	pause = 5 * time.Second
)

// Deps is what this controller works with.
type Deps struct {
	Clusters    fleetv1.ClusterController
	Deployments fleetv1.BundleDeploymentController
	Namespaces  core.NamespaceController
	Clock       clock.PassiveClock
}

type handler struct {
	Deps
	// due is what there is to tell of each cluster, and when; written is when that was last done.
	due, written sync.Map
}

// news is what waits to be told of a cluster.
type news struct {
	stage time.Duration
	at    time.Time
}

// Register starts the controller with the factories behind deps.
func Register(ctx context.Context, deps Deps) {
	h := &handler{Deps: deps}
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	kube.Watch(ctx, handlerName+"-deployments", h.clusterOf, kube.Debounced(deps.Clusters, 0), deps.Deployments)
	// A deployment may be seen before its namespace is, and then concerns nobody.
	kube.Watch(ctx, handlerName+"-namespaces", h.clusterAt, kube.Debounced(deps.Clusters, 0), deps.Namespaces)
	kube.Sweep(ctx, kube.SweepInterval, deps.Clusters.Cache().List, deps.Clusters.EnqueueAfter)
}

// clusterOf finds the Cluster that a deployment's namespace belongs to, by the namespace's own mark: labels of a deployment
// may say anything.
func (h *handler) clusterOf(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	if obj == nil {
		return nil, nil
	}
	ns, err := h.Namespaces.Cache().Get(namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("namespace %s: %w", namespace, err)
	}
	return h.clusterAt("", namespace, ns)
}

// clusterAt is the Cluster that a namespace says it is of.
func (h *handler) clusterAt(_, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	ns, ok := obj.(*corev1.Namespace)
	if !ok {
		return nil, nil
	}
	workspace, name := ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil, nil
	}
	return []relatedresource.Key{{Namespace: workspace, Name: name}}, nil
}

func (h *handler) onChange(key string, c *fleet.Cluster) (*fleet.Cluster, error) {
	if c == nil || c.DeletionTimestamp != nil {
		h.written.Delete(key)
		h.due.Delete(key)
		return c, nil
	}
	deployments, err := h.observe(c)
	if err != nil {
		return c, err
	}
	counted, now := figuresOf(deployments), h.Clock.Now()
	if !counted.differ(&c.Status, now) {
		h.due.Delete(key)
		return c, nil
	}
	if rest := h.rest(key, c, counted, now); rest > 0 {
		h.Clusters.EnqueueAfter(c.Namespace, c.Name, rest)
		return c, nil
	}
	return c, h.write(key, c, counted, now)
}

// rest is how long what there is to tell of a cluster is kept back. The wait begins anew when the cluster joins, and when
// it gets its first bundle: what was to be told before that lasted a moment.
func (h *handler) rest(key string, c *fleet.Cluster, counted figures, now time.Time) time.Duration {
	stage := gather
	switch {
	case c.Status.Agent.LastSeen.IsZero():
		stage = joining
	case counted.summary.DesiredReady == 0:
		stage = arriving
	}
	waiting, _ := h.due.LoadOrStore(key, news{stage, now.Add(stage)})
	due := waiting.(news)
	if stage < due.stage {
		due = news{stage, now.Add(stage)}
		h.due.Store(key, due)
	}
	rest := due.at.Sub(now)
	if last, ok := h.written.Load(key); ok && counted.underWay() {
		rest = max(rest, pause-now.Sub(last.(time.Time)))
	}
	return rest
}

func (h *handler) write(key string, c *fleet.Cluster, counted figures, now time.Time) error {
	_, err := kube.UpdateStatus(h.Clusters, c.Namespace, c.Name, kube.ClusterStatus, func(s *fleet.ClusterStatus) {
		counted.into(s, now)
	})
	if err != nil {
		return fmt.Errorf("Cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	h.due.Delete(key)
	h.written.Store(key, now)
	return nil
}

// observe are the deployments in the cluster's namespace. That its status names one is no proof that it is its own.
func (h *handler) observe(c *fleet.Cluster) ([]*fleet.BundleDeployment, error) {
	if c.Status.Namespace == "" {
		return nil, nil
	}
	ns, err := h.Namespaces.Cache().Get(c.Status.Namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("namespace %s of Cluster %s/%s: %w", c.Status.Namespace, c.Namespace, c.Name, err)
	}
	if !registration.IsPlaceOf(ns, c) {
		return nil, nil
	}
	deployments, err := h.Deployments.Cache().List(ns.Name, labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("deployments of Cluster %s/%s: %w", c.Namespace, c.Name, err)
	}
	return deployments, nil
}
