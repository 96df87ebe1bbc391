package bundle

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/target"
)

// prune removes the deployments that are provably no longer wanted. The proof was made from caches: before it counts, it is
// made once more from what the API server says.
func (h *handler) prune(in *input) error {
	verdict := target.Unwanted(in.facts, in.targets, in.refusals, in.existing, in.outside)
	var due []target.Removal
	for _, r := range verdict.Remove {
		if !h.deployments.IsDeleted(r.Deployment) {
			due = append(due, r)
		}
	}
	if len(due) == 0 {
		return nil
	}
	live, err := found(h.Bundles.Get(in.bundle.Namespace, in.bundle.Name, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading the bundle before its deployments are removed: %w", err)
	}
	if live == nil || live.UID != in.bundle.UID || live.Generation != in.bundle.Generation || live.DeletionTimestamp != nil ||
		!sameLabels(live.Labels, in.bundle.Labels) {
		return nil // its event goes on with it
	}
	now, err := h.observeLive(in, due)
	if err != nil {
		return err
	}
	return h.each(len(due), func(i int) error { return h.remove(in, now, due[i]) })
}

func sameLabels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if have, ok := b[key]; !ok || have != value {
			return false
		}
	}
	return true
}

func (h *handler) remove(in *input, now *current, r target.Removal) error {
	live, err := found(h.Clusters.Get(r.Cluster.Namespace, r.Cluster.Name, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading cluster %s/%s: %w", r.Cluster.Namespace, r.Cluster.Name, err)
	}
	if live == nil || !target.Same(r.Cluster, live) {
		return nil // its event goes on with it; what a cluster had goes with its namespace
	}
	// A cluster's status is no proof of what is its own.
	if owner := h.clusterOf(r.Deployment); owner == nil || owner.UID != r.Cluster.UID {
		return nil
	}
	if !now.isUnwanted(in, live, r.Deployment) {
		return nil // the event of what the cache lacks goes on with it
	}
	return h.deleteDeployment(r.Deployment)
}

// deleteDeployment deletes exactly what was looked at. Its finalizer holds it until its Secrets are gone.
func (h *handler) deleteDeployment(bd *fleet.BundleDeployment) error {
	if err := kube.Deleted(h.Deployments.Delete(bd.Namespace, bd.Name, kube.ByUID(bd.UID))); err != nil {
		return fmt.Errorf("deleting BundleDeployment %s/%s: %w", bd.Namespace, bd.Name, err)
	}
	h.deployments.Deleted(bd.UID)
	return nil
}

// each does something n times, several at once.
func (h *handler) each(n int, do func(int) error) error {
	errs := make([]error, n)
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(bundleWrites, n) {
		workers.Go(func() {
			for i := range next {
				h.slots <- struct{}{}
				errs[i] = do(i)
				<-h.slots
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return bounded(failed)
}
