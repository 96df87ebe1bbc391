package bundle

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/kube"
)

const (
	// soon gathers the changes that come together: many clusters at once, or many deletions.
	soon = 50 * time.Millisecond
	// perCluster and latest are how long reports of agents are gathered, by the number of clusters: each look costs
	// something for every cluster, and each write of the status the whole Bundle.
	perCluster = 5 * time.Millisecond
	latest     = 3 * time.Second
)

func (h *handler) watch(ctx context.Context) {
	kube.WatchChanges(ctx, handlerName+"-deployments", h.onDeployment, h.Deployments)
	kube.WatchChanges(ctx, handlerName+"-clusters", h.onCluster, h.Clusters)
	kube.WatchChanges(ctx, handlerName+"-groups", h.onGroup, h.Groups)
	kube.WatchChanges(ctx, handlerName+"-mappings", h.onMapping, h.Mappings)
	kube.WatchChanges(ctx, handlerName+"-restrictions", h.onRestriction, h.Restrictions)
	kube.WatchChanges(ctx, handlerName+"-namespaces", h.onNamespace, h.Namespaces)
	kube.WatchChanges(ctx, handlerName+"-secrets", h.onSecret, h.Secrets)
	kube.WatchChanges(ctx, handlerName+"-contents", h.onContent, h.Contents)
	h.Sources.OnChange(ctx, func(namespace, name string) { h.wakeCopies("ConfigMap", namespace, name) })
}

// unhurried is how long the reports about a bundle are gathered.
func (h *handler) unhurried(namespace, name string) time.Duration {
	size, _ := h.sizes.Load(namespace + "/" + name)
	n, _ := size.(int)
	return min(latest, soon+time.Duration(n)*perCluster)
}

// onDeployment follows what agents report, and what is changed or deleted by hand. What was written here comes back too.
func (h *handler) onDeployment(before, now *fleet.BundleDeployment) {
	for _, bd := range []*fleet.BundleDeployment{before, now} {
		if bd == nil {
			continue
		}
		namespace, name := bundleOf(bd)
		if namespace == "" {
			continue
		}
		delay := h.unhurried(namespace, name)
		if now == nil {
			h.deployments.Deleted(bd.UID)
			h.settled.Delete(bd.UID)
			h.looked.Delete(bd.UID)
			delay = soon
		} else {
			h.deployments.Seen(now)
		}
		h.waker.Wake(namespace, name, delay)
	}
}

// onCluster looks at all bundles that chose the cluster, or may choose it now: not at a heartbeat, but at what targets,
// options and rollouts rest on.
func (h *handler) onCluster(before, now *fleet.Cluster) {
	if before != nil && now != nil && sameForBundles(before, now) {
		return
	}
	h.wakeBundlesOf(before)
	h.wakeBundlesOf(now)
}

func (h *handler) onGroup(before, now *fleet.ClusterGroup) {
	if before != nil && now != nil &&
		equality.Semantic.DeepEqual(before.Labels, now.Labels) && equality.Semantic.DeepEqual(before.Spec, now.Spec) {
		return
	}
	group := now
	if group == nil {
		group = before
	}
	for _, namespace := range h.sourcesOf(group.Namespace) {
		h.wakeIndexed(bundlesByChoice, namespace+byGroup)
	}
}

// onMapping looks at the bundles that a mapping opens clusters to, and at those that it did.
func (h *handler) onMapping(before, now *fleet.BundleNamespaceMapping) {
	for _, mapping := range []*fleet.BundleNamespaceMapping{before, now} {
		if mapping != nil {
			h.wakeMapped(mapping)
		}
	}
}

func (h *handler) onRestriction(before, now *fleet.GitRepoRestriction) {
	restriction := now
	if restriction == nil {
		restriction = before
	}
	bundles, err := h.Bundles.Cache().List(restriction.Namespace, labels.Everything())
	if err != nil {
		return
	}
	for _, b := range bundles {
		if b.Labels[fleet.RepoLabel] != "" {
			h.waker.Wake(b.Namespace, b.Name, soon)
		}
	}
}

// onNamespace looks at what a namespace's labels open to bundles of elsewhere, and at the cluster whose place it is.
func (h *handler) onNamespace(before, now *corev1.Namespace) {
	if before == nil || now == nil || !equality.Semantic.DeepEqual(before.Labels, now.Labels) {
		h.wakeMappedTo(before)
		h.wakeMappedTo(now)
	}
	if before != nil && now != nil && (before.DeletionTimestamp == nil) == (now.DeletionTimestamp == nil) &&
		equality.Semantic.DeepEqual(before.Annotations, now.Annotations) {
		return
	}
	if now == nil {
		h.swept.Delete(before.Name)
	}
	for _, ns := range []*corev1.Namespace{before, now} {
		if ns != nil {
			h.wakeBundlesOf(h.clusterAt(ns))
		}
	}
}

// onSecret knows the values of bundles and of deployments, and what bundles copy to clusters.
func (h *handler) onSecret(before, now *corev1.Secret) {
	secret := now
	if secret == nil {
		secret = before
		h.secrets.Deleted(before.UID)
	} else {
		h.secrets.Seen(now)
	}
	if before != nil && now != nil && before.Type == now.Type &&
		equality.Semantic.DeepEqual(before.Data, now.Data) && equality.Semantic.DeepEqual(before.Labels, now.Labels) {
		return
	}
	switch secret.Type {
	case fleet.SecretTypeBundleValues:
		h.waker.Wake(secret.Namespace, secret.Name, 0)
	case fleet.SecretTypeBundleDeploymentOptions:
		if namespace := secret.Labels[fleet.BundleNamespaceLabel]; namespace != "" {
			h.waker.Wake(namespace, secret.Name, h.unhurried(namespace, secret.Name))
		}
	}
	h.wakeCopies("Secret", secret.Namespace, secret.Name)
	if before != nil && deployment.IsCopy(secret) {
		h.wakeNeeding(secret.Namespace, deployment.Copy{Kind: deployment.SecretKind, Name: secret.Name})
	}
}

// onContent has a Content made anew that is needed, and gone.
func (h *handler) onContent(before, now *fleet.Content) {
	if now != nil {
		h.contents.Seen(now)
		return
	}
	h.contents.Deleted(before.UID)
	needed, err := h.Deployments.Cache().GetByIndex(deploymentsByContent, before.Name)
	if err != nil {
		return
	}
	for _, bd := range needed {
		namespace, name := bundleOf(bd)
		h.waker.Wake(namespace, name, soon)
	}
}
