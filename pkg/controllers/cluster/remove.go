package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Definition reads the metadata of the definition of Bundles from the API server, nil where there is none.
type Definition func(context.Context) (*metav1.PartialObjectMetadata, error)

// gathering is how long the ends of deployments are gathered before a leaving Cluster is looked at.
const gathering = 500 * time.Millisecond

// removeBundles makes the next step of a removal, where one is wanted.
func (h *handler) removeBundles(cluster *fleet.Cluster) (removalStep, error) {
	if !registration.Removes(cluster, h.Config.Get().ClusterOnDelete) {
		return removalStep{done: true}, nil
	}
	in, err := h.observeRemoval(cluster)
	if err != nil {
		return removalStep{}, err
	}
	step := decideRemoval(in)
	if step.done {
		return step, nil
	}
	return step, h.applyRemoval(cluster, step)
}

func (h *handler) observeRemoval(cluster *fleet.Cluster) (removal, error) {
	in := removal{cluster: cluster, now: h.Clock.Now(), timeout: h.Config.Get().ClusterOnDeleteTimeout.Duration}
	_, ns, err := findPlace(cluster, h.liveNamespace)
	if err != nil {
		return in, err
	}
	if ns == nil || ns.DeletionTimestamp != nil || !marked(ns, cluster) {
		in.spared = "its namespace on the hub is gone"
		return in, nil
	}
	if in.deployments, err = h.removable(ns.Name); err != nil {
		return in, err
	}
	if in.access, err = h.hasAccess(cluster); err != nil {
		return in, err
	}
	in.spared, err = h.spares(cluster.Namespace)
	return in, err
}

// removable are the deployments in a cluster's namespace but its own agent's, which the cluster keeps. That there are none
// is said by the API server.
func (h *handler) removable(namespace string) ([]*fleet.BundleDeployment, error) {
	isAgent := func(bd *fleet.BundleDeployment) bool { return bd.Labels[names.AgentBundleLabel] == "true" }
	cached, err := h.Deployments.Cache().List(namespace, labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing BundleDeployments in %s: %w", namespace, err)
	}
	if found := slices.DeleteFunc(slices.Clone(cached), isAgent); len(found) > 0 {
		return found, nil
	}
	live, err := h.Deployments.List(namespace, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing BundleDeployments in %s: %w", namespace, err)
	}
	var found []*fleet.BundleDeployment
	for i := range live.Items {
		if !isAgent(&live.Items[i]) {
			found = append(found, &live.Items[i])
		}
	}
	return found, nil
}

// hasAccess says whether the agent of a Cluster can still come to the hub, to hear what is to be removed and to say that it is.
func (h *handler) hasAccess(cluster *fleet.Cluster) (bool, error) {
	requests, err := h.requestsOf(cluster)
	if err != nil {
		return false, err
	}
	accounts, err := h.Accounts.Cache().GetByIndex(accountsByCluster, cluster.Namespace+"/"+cluster.Name)
	if err != nil {
		return false, fmt.Errorf("listing accounts: %w", err)
	}
	return len(accounts) > 0 && slices.ContainsFunc(requests, func(r *fleet.ClusterRegistration) bool {
		return r.Status.Granted && r.DeletionTimestamp == nil
	}), nil
}

// spares says why nothing is removed from a cluster although its Cluster asks for it: who deletes a whole workspace, or the
// kinds, takes the hub away, and does not think of what runs on clusters. The requests of a workspace go with it as well, and
// with them the agents' access, in no certain order.
func (h *handler) spares(workspace string) (string, error) {
	ns, err := found(h.liveNamespace(workspace))
	if err != nil {
		return "", fmt.Errorf("reading namespace %s: %w", workspace, err)
	}
	if ns == nil || ns.DeletionTimestamp != nil {
		return "the whole workspace " + workspace + " is deleted", nil
	}
	definition, err := h.Definition(context.Background())
	if err != nil {
		return "", fmt.Errorf("reading the definition of Bundles: %w", err)
	}
	if definition == nil || definition.DeletionTimestamp != nil {
		return "the definition of Bundles is deleted", nil
	}
	return "", nil
}

func (h *handler) applyRemoval(cluster *fleet.Cluster, step removalStep) error {
	h.Clusters.EnqueueAfter(cluster.Namespace, cluster.Name, min(lookAgain, max(step.ends.Sub(h.Clock.Now()), 0)))
	if step.begin != nil {
		updated := cluster.DeepCopy()
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, names.LeavingAnnotation, step.begin.Annotation())
		if _, err := h.Clusters.Update(updated); err != nil {
			return fmt.Errorf("noting that its bundles are being removed: %w", err)
		}
		return nil // its own event goes on with it
	}
	if len(step.remove) > 0 {
		if still, err := h.stillRemoves(cluster); err != nil || !still {
			return err // the event of what was changed goes on with it
		}
	}
	for _, bd := range step.remove {
		if err := kube.Deleted(h.Deployments.Delete(bd.Namespace, bd.Name, kube.ByUID(bd.UID))); err != nil {
			return fmt.Errorf("deleting BundleDeployment %s/%s: %w", bd.Namespace, bd.Name, err)
		}
	}
	return h.reportLeaving(cluster, reasonLeaving, step.waiting)
}

// stillRemoves reads live what decides it: a Cluster that is to keep its bundles after all keeps them.
func (h *handler) stillRemoves(cluster *fleet.Cluster) (bool, error) {
	live, err := found(h.Clusters.Get(cluster.Namespace, cluster.Name, metav1.GetOptions{}))
	if err != nil {
		return false, fmt.Errorf("reading it before its bundles are removed: %w", err)
	}
	return live != nil && live.UID == cluster.UID && registration.Removes(live, h.Config.Get().ClusterOnDelete), nil
}

// onDeployment looks at a leaving Cluster when one of its deployments is gone.
func (h *handler) onDeployment(before, now *fleet.BundleDeployment) {
	if now != nil {
		return
	}
	ns, err := h.Namespaces.Cache().Get(before.Namespace)
	if err != nil {
		return
	}
	for _, key := range clusterIn(ns.Annotations) {
		if c, err := h.Clusters.Cache().Get(key.Namespace, key.Name); err == nil && c.DeletionTimestamp != nil {
			h.Clusters.EnqueueAfter(key.Namespace, key.Name, gathering)
		}
	}
}
