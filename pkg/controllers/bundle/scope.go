package bundle

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// sameForBundles says whether a change of a Cluster is none of a bundle's business. What its agent and the other
// controllers of the hub report all the time is in its status.
func sameForBundles(a, b *fleet.Cluster) bool {
	return a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		a.Spec.Paused == b.Spec.Paused && a.Spec.Revoked == b.Spec.Revoked &&
		a.Status.Namespace == b.Status.Namespace &&
		a.Status.Scheduled == b.Status.Scheduled && a.Status.ActiveSchedule == b.Status.ActiveSchedule &&
		isOffline(a) == isOffline(b) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		equality.Semantic.DeepEqual(given(a.Annotations), given(b.Annotations)) &&
		equality.Semantic.DeepEqual(a.Spec.TemplateValues, b.Spec.TemplateValues)
}

// given are the annotations that a person or a manager gave, without the hub's own records.
func given(annotations map[string]string) map[string]string {
	kept := make(map[string]string, len(annotations))
	for key, value := range annotations {
		switch key {
		case names.ImportAnnotation, names.IdentityAnnotation, names.PlaceAnnotation, names.LeavingAnnotation:
		default:
			kept[key] = value
		}
	}
	return kept
}

// isOffline says whether a cluster is known to be silent.
func isOffline(c *fleet.Cluster) bool {
	condition := conditions.GetCondition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
	return condition != nil && condition.Status == corev1.ConditionFalse
}

// isHeld says that nothing new may reach a cluster: a copy of its agent would get it too. Nobody waits for it.
func isHeld(c *fleet.Cluster) bool {
	_, suspected := registration.CloneOf(c.Annotations)
	return suspected
}

// wakeBundlesOf looks at the bundles that may choose a cluster, and at those that have.
func (h *handler) wakeBundlesOf(c *fleet.Cluster) {
	if c == nil {
		return
	}
	for _, namespace := range h.sourcesOf(c.Namespace) {
		h.wakeIndexed(bundlesByChoice, namespace+anyCluster)
		h.wakeIndexed(bundlesByChoice, namespace+byName+c.Name)
		if display := c.Labels[names.DisplayNameLabel]; display != "" && display != c.Name {
			h.wakeIndexed(bundlesByChoice, namespace+byName+display)
		}
	}
	if c.Status.Namespace == "" {
		return
	}
	deployments, err := h.Deployments.Cache().List(c.Status.Namespace, labels.Everything())
	if err != nil {
		return
	}
	for _, bd := range deployments {
		if namespace, name := bundleOf(bd); namespace != "" {
			h.waker.Wake(namespace, name, soon)
		}
	}
}

func (h *handler) wakeIndexed(index, key string) {
	bundles, err := h.Bundles.Cache().GetByIndex(index, key)
	if err != nil {
		return
	}
	for _, b := range bundles {
		h.waker.Wake(b.Namespace, b.Name, soon)
	}
}

// sourcesOf are the namespaces whose bundles may choose the clusters of a namespace.
func (h *handler) sourcesOf(namespace string) []string {
	sources := []string{namespace}
	mappings, err := h.Mappings.Cache().List("", labels.Everything())
	if err != nil || len(mappings) == 0 {
		return sources
	}
	ns, err := h.Namespaces.Cache().Get(namespace)
	if err != nil {
		return sources
	}
	for _, m := range mappings {
		if m.Namespace != namespace && selects(m.NamespaceSelector, ns.Labels) {
			sources = append(sources, m.Namespace)
		}
	}
	return sources
}

func (h *handler) wakeMappedTo(ns *corev1.Namespace) {
	if ns == nil {
		return
	}
	mappings, err := h.Mappings.Cache().List("", labels.Everything())
	if err != nil {
		return
	}
	for _, m := range mappings {
		if selects(m.NamespaceSelector, ns.Labels) {
			h.wakeMapped(m)
		}
	}
}

// wakeMapped looks at the bundles of a mapping. Which of them it means is for them to see: what its selector says may have
// changed, and an unreadable one concerns all.
func (h *handler) wakeMapped(m *fleet.BundleNamespaceMapping) {
	bundles, err := h.Bundles.Cache().List(m.Namespace, labels.Everything())
	if err != nil {
		return
	}
	for _, b := range bundles {
		if selects(m.BundleSelector, b.Labels) {
			h.waker.Wake(b.Namespace, b.Name, soon)
		}
	}
}

// selects is true for a selector that cannot be read: whom it concerns is not known.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err != nil || s.Matches(labels.Set(set))
}

// clusterAt is the Cluster whose place a namespace is, nil where it is none's.
func (h *handler) clusterAt(ns *corev1.Namespace) *fleet.Cluster {
	workspace, name := ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]
	if workspace == "" || name == "" {
		return nil
	}
	c, err := h.Clusters.Cache().Get(workspace, name)
	if err != nil {
		return nil
	}
	return c
}
