package clusterstatus

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/summary"
)

// waitCheckIn is what user interfaces know a cluster by whose agent has never reported.
const waitCheckIn = "WaitCheckIn"

// figures are what the deployments of a cluster add up to.
type figures struct {
	summary   fleet.BundleSummary
	resources fleet.ResourceCounts
	gitRepos  apps
	helmOps   apps
}

// apps counts the GitRepos or HelmOps of a cluster.
type apps struct{ ready, desired int }

// figuresOf counts what is there and stays: a deployment that is being deleted is wanted no more.
func figuresOf(deployments []*fleet.BundleDeployment) figures {
	living := slices.DeleteFunc(slices.Clone(deployments), func(bd *fleet.BundleDeployment) bool { return bd.DeletionTimestamp != nil })
	slices.SortFunc(living, func(a, b *fleet.BundleDeployment) int { return cmp.Compare(a.Name, b.Name) })

	var f figures
	for _, bd := range living {
		summary.Add(&f.summary, summary.EntryOf(bd.Name, bd, bd.Spec.DeploymentID))
		summary.AddCounts(&f.resources, bd.Status.ResourceCounts)
	}
	summary.Bound(&f.summary)
	f.gitRepos = count(living, fleet.RepoLabel)
	f.helmOps = count(living, fleet.HelmOpLabel)
	return f
}

// count knows a GitRepo or HelmOp by the namespace of its bundles and the label that names it. It is ready when all of its
// bundles are.
func count(deployments []*fleet.BundleDeployment, label string) apps {
	type key struct{ namespace, name string }
	ready := map[key]bool{}
	for _, bd := range deployments {
		k := key{bd.Labels[fleet.BundleNamespaceLabel], bd.Labels[label]}
		if k.name == "" {
			continue
		}
		before, seen := ready[k]
		ready[k] = (before || !seen) && summary.State(bd) == fleet.Ready
	}
	counted := apps{desired: len(ready)}
	for _, isReady := range ready {
		if isReady {
			counted.ready++
		}
	}
	return counted
}

// underWay says that more will change before long.
func (f figures) underWay() bool {
	return f.summary.WaitApplied+f.summary.Pending+f.summary.OutOfSync > 0
}

// differ says that a status tells something else.
func (f figures) differ(s *fleet.ClusterStatus, now time.Time) bool {
	told := s.DeepCopy()
	f.into(told, now)
	return !equality.Semantic.DeepEqual(told, s)
}

// into writes the figures into a Cluster's status.
func (f figures) into(s *fleet.ClusterStatus, now time.Time) {
	s.Summary, s.ResourceCounts = *f.summary.DeepCopy(), f.resources
	s.ReadyGitRepos, s.DesiredReadyGitRepos = f.gitRepos.ready, f.gitRepos.desired
	s.ReadyHelmOps, s.DesiredReadyHelmOps = f.helmOps.ready, f.helmOps.desired
	s.Display.ReadyBundles = fmt.Sprintf("%d/%d", f.summary.Ready, f.summary.DesiredReady)
	s.Display.State = string(summary.WorstOf(f.summary))

	if s.Agent.LastSeen.IsZero() {
		s.Display.State = waitCheckIn
		conditions.SetCondition(&s.Conditions, fleet.ClusterConditionReady, metav1.ConditionFalse, waitCheckIn,
			"the agent has not reported yet; the condition Registered says what it waits for", now)
		return
	}
	status, reason := metav1.ConditionTrue, ""
	ready, text := summary.ReadyCondition(f.summary, "Bundle")
	if !ready {
		status, reason = metav1.ConditionFalse, "BundlesNotReady"
	}
	conditions.SetCondition(&s.Conditions, fleet.ClusterConditionReady, status, reason, text, now)
}
