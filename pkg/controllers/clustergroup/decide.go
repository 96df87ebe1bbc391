package clustergroup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/summary"
)

// maxNamed is how many clusters that are not ready a group names.
const maxNamed = 10

// selectorOf is nobody for a group without a selector.
func selectorOf(group *fleet.ClusterGroup) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("ClusterGroup %s/%s: spec.selector: %w; correct it, the group is empty until then", group.Namespace, group.Name, err)
	}
	return selector, nil
}

// figures are what the clusters of a group add up to.
type figures struct {
	clusters int
	notReady []string
	summary  fleet.BundleSummary
	counts   fleet.ResourceCounts
}

func figuresOf(clusters []*fleet.Cluster) figures {
	members := slices.Clone(clusters)
	slices.SortFunc(members, func(a, b *fleet.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	f := figures{clusters: len(members)}
	for _, c := range members {
		if !conditions.IsTrue(c.Status.Conditions, fleet.ClusterConditionReady) {
			f.notReady = append(f.notReady, c.Name)
		}
		summary.Merge(&f.summary, c.Status.Summary)
		summary.AddCounts(&f.counts, c.Status.ResourceCounts)
	}
	summary.Bound(&f.summary)
	return f
}

// into writes the figures into a group's status.
func (f figures) into(s *fleet.ClusterGroupStatus, now time.Time) {
	named := slices.Clone(f.notReady[:min(len(f.notReady), maxNamed)])
	s.ClusterCount, s.NonReadyClusterCount, s.NonReadyClusters = f.clusters, len(f.notReady), named
	s.Summary, s.ResourceCounts = *f.summary.DeepCopy(), f.counts

	s.Display.ReadyClusters = fmt.Sprintf("%d/%d", f.clusters-len(f.notReady), f.clusters)
	if len(named) > 0 {
		s.Display.ReadyClusters += " (" + strings.Join(named, ", ") + ")"
	}
	s.Display.ReadyBundles = fmt.Sprintf("%d/%d", f.summary.Ready, f.summary.DesiredReady)
	s.Display.State = string(summary.WorstOf(f.summary))

	conditions.SetCondition(&s.Conditions, fleet.ClusterGroupConditionProcessed, metav1.ConditionTrue, "", "", now)
	ready, text := summary.ReadyCondition(f.summary, "Bundle")
	status, reason := metav1.ConditionTrue, ""
	switch {
	case !ready:
		status, reason = metav1.ConditionFalse, "BundlesNotReady"
	case len(f.notReady) > 0:
		status, reason = metav1.ConditionFalse, "ClustersNotReady"
		text = "not ready: " + strings.Join(named, ", ")
	}
	conditions.SetCondition(&s.Conditions, fleet.ClusterGroupConditionReady, status, reason, text, now)
}

// refused is what a group with a broken selector says. Its figures stay as they were.
func refused(s *fleet.ClusterGroupStatus, err error, now time.Time) {
	conditions.SetCondition(&s.Conditions, fleet.ClusterGroupConditionProcessed, metav1.ConditionFalse, "InvalidSelector", err.Error(), now)
}
