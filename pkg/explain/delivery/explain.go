package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/summary"
	"github.com/rancher/fleet/pkg/target"
)

// dependsMark is what agents begin with that wait for other bundles.
const dependsMark = "dependent bundle(s) are not ready"

// maxListed is how many resources of a cluster are named.
const maxListed = 10

// Explain tells how far the bundle is on each cluster.
func (l Look) Explain() Explanation {
	bundle := l.facts.Bundle
	e := Explanation{
		Workspace: bundle.Namespace, Name: bundle.Name, Paused: bundle.Spec.Paused, Leaving: bundle.DeletionTimestamp != nil,
		Created: bundle.CreationTimestamp, Content: l.Content, Rollout: l.rollout(), Unknown: l.facts.Unknown,
		Behind:   bundle.Status.ObservedGeneration < bundle.Generation,
		Clusters: []Cluster{},
	}
	for _, t := range l.Targets {
		e.Clusters = append(e.Clusters, l.cluster(t))
	}
	for _, r := range l.Refusals {
		e.Clusters = append(e.Clusters, l.refusedCluster(r))
	}
	e.Clusters = append(e.Clusters, l.left()...)
	slices.SortStableFunc(e.Clusters, func(a, b Cluster) int {
		return compareKeys(types.NamespacedName{Namespace: a.Workspace, Name: a.Name}, types.NamespacedName{Namespace: b.Workspace, Name: b.Name})
	})
	e.count()
	if l.Problem != nil {
		e.Problem = l.Problem.Error()
		e.State = "Blocked"
		if condition := conditions.GetCondition(bundle.Status.Conditions, fleet.BundleConditionReady); condition != nil && condition.Reason != "" {
			e.State = condition.Reason
		}
	}
	if e.Leaving {
		e.State = "Leaving"
	}
	return e
}

// count sums up the clusters. Those that are left as they are count as little here as in the bundle's status.
func (e *Explanation) count() {
	var states []fleet.BundleState
	ready := 0
	for _, c := range e.Clusters {
		if c.Step == StepLeft {
			continue
		}
		states = append(states, c.State)
		if c.State == fleet.Ready {
			ready++
		}
	}
	e.ReadyClusters = fmt.Sprintf("%d/%d", ready, len(states))
	e.State = string(cmp.Or(summary.Worst(states...), fleet.Ready))
}

func (l Look) rollout() Rollout {
	r := Rollout{
		Unavailable: l.plan.Unavailable, MaxUnavailable: l.plan.MaxUnavailable, WaitsFor: l.plan.Wait,
		UnavailablePartitions: l.plan.UnavailablePartitions, MaxUnavailablePartitions: l.plan.MaxUnavailablePartitions,
	}
	for _, p := range l.plan.Partitions {
		r.Partitions = append(r.Partitions, Partition{Name: p.Name, Clusters: p.Count, Unavailable: p.Unavailable, MaxUnavailable: p.MaxUnavailable})
	}
	return r
}

// cluster is a cluster that gets the bundle.
func (l Look) cluster(t target.Target) Cluster {
	p, step := l.places[t.Key()], l.plan.Place[t.Key()]
	bd := p.deployment
	c := l.row(t.Cluster, bd)
	c.Version, c.Partition = t.DeploymentID, l.partitionOf(t.Key())
	c.Target = target.Explain(l.facts.Facts, t.Cluster).Target
	c.State, c.Step = summary.StateFor(bd, t.DeploymentID), stepOf(bd, t.DeploymentID)
	paused := l.facts.Bundle.Spec.Paused || t.Cluster.Spec.Paused
	if paused {
		c.State = summary.State(bd) // what is held back makes it out of sync, and not late
	}
	if c.State == fleet.Ready {
		c.LastError = ""
		return c
	}
	c.WaitsFor = cmp.Or(p.blocked, waitOf(l.facts.Bundle, t.Cluster, step), l.waitsFor(c, bd))
	return c
}

// waitOf is what the rollout says of a cluster.
func waitOf(bundle *fleet.Bundle, cluster *fleet.Cluster, step target.Step) string {
	switch {
	case step.Wait == "paused" && bundle.Spec.Paused:
		return "the bundle is paused: spec.paused"
	case step.Wait == "paused":
		return "the cluster is paused: spec.paused of Cluster " + cluster.Namespace + "/" + cluster.Name
	}
	return step.Wait
}

// waitsFor is what a cluster waits for whose turn it is.
func (l Look) waitsFor(c Cluster, bd *fleet.BundleDeployment) string {
	silent := ""
	if c.Silent {
		silent = "its agent, which is silent: see `fleet cluster explain`"
	}
	switch {
	case l.Problem != nil:
		return "the bundle: " + l.Problem.Error()
	case c.Step == StepNone || c.Step == StepEarlier || c.Step == StepStaged:
		return "the hub, which looks at the bundle next"
	case bd.Spec.WaitingForValues:
		return fmt.Sprintf("the values of the version that runs, whose Secret %s/%s is missing or changed; the next version that is released ends it", bd.Namespace, bd.Name)
	case bd.Spec.OffSchedule:
		return "the cluster's schedule"
	case silent != "":
		return silent
	case len(bd.Spec.DependsOn) > 0 && strings.HasPrefix(c.LastError, dependsMark):
		return c.LastError
	case c.State == fleet.ErrApplied:
		return "somebody who mends what its agent says"
	case c.State == fleet.WaitApplied:
		return cmp.Or(summary.MessageFor(bd, c.Version), "its agent, which takes the version up")
	case c.State == fleet.NotReady:
		return "resources that are not ready yet"
	case c.State == fleet.Modified:
		return "somebody who takes back what was changed on the cluster, or correctDrift"
	}
	return ""
}

// refusedCluster is a cluster that is left as it is.
func (l Look) refusedCluster(r target.Refusal) Cluster {
	bd := l.places[r.Key()].deployment
	c := l.row(r.Cluster, bd)
	c.State, c.WaitsFor = fleet.ErrApplied, r.Field+": "+r.Err.Error()
	c.Step = stepOf(bd, "")
	if r.Quiet {
		c.State, c.Step, c.WaitsFor = summary.State(bd), StepLeft, r.Err.Error()
	}
	return c
}

// left are the deployments of clusters that are no longer targeted.
func (l Look) left() []Cluster {
	var list []Cluster
	known := map[string]bool{}
	for _, r := range l.Refusals {
		known[r.Cluster.Status.Namespace] = true
	}
	for _, r := range l.verdict.Remove {
		c := l.row(r.Cluster, r.Deployment)
		c.State, c.Step = summary.State(r.Deployment), StepLeft
		c.WaitsFor = "its removal: " + removalReason(r)
		list = append(list, c)
	}
	for _, k := range l.verdict.Keep {
		if known[k.Deployment.Namespace] {
			continue
		}
		c := l.row(nil, k.Deployment)
		c.State, c.Step = summary.State(k.Deployment), StepLeft
		c.WaitsFor = "kept: " + k.Reason
		list = append(list, c)
	}
	return list
}

// row is what is told of any cluster.
func (l Look) row(cluster *fleet.Cluster, bd *fleet.BundleDeployment) Cluster {
	var c Cluster
	if cluster != nil {
		c = Cluster{Workspace: cluster.Namespace, Name: cluster.Name, Namespace: cluster.Status.Namespace, Silent: isSilent(cluster)}
	}
	if bd == nil {
		return c
	}
	c.Namespace, c.Release, c.Resources = bd.Namespace, bd.Status.Release, len(bd.Status.Resources)
	c.Content = manifestOf(bd.Status.AppliedDeploymentID)
	for _, kind := range []string{fleet.BundleDeploymentConditionDeployed, fleet.BundleDeploymentConditionInstalled, fleet.BundleDeploymentConditionMonitored} {
		condition := conditions.GetCondition(bd.Status.Conditions, kind)
		if condition != nil && condition.Status == "False" && c.LastError == "" {
			c.LastError = condition.Message
		}
	}
	for _, n := range bd.Status.NonReadyStatus[:min(len(bd.Status.NonReadyStatus), maxListed)] {
		text := fmt.Sprintf("%s %s: %s", n.Kind, named(n.Namespace, n.Name), n.Summary.State)
		if len(n.Summary.Message) > 0 {
			text += ", " + n.Summary.Message[0]
		}
		c.NonReady = append(c.NonReady, text)
	}
	for _, m := range bd.Status.ModifiedStatus[:min(len(bd.Status.ModifiedStatus), maxListed)] {
		what := "changed"
		switch {
		case m.Create:
			what = "missing"
		case m.Delete:
			what = "extra"
		}
		c.Modified = append(c.Modified, fmt.Sprintf("%s %s: %s", m.Kind, named(m.Namespace, m.Name), what))
	}
	return c
}

func named(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// stepOf is how far a version is at a cluster.
func stepOf(bd *fleet.BundleDeployment, want string) string {
	switch {
	case bd == nil:
		return StepNone
	case want == "":
		return StepEarlier
	case bd.Status.AppliedDeploymentID == want:
		return StepApplied
	case bd.Spec.DeploymentID == want:
		return StepReleased
	case bd.Spec.StagedDeploymentID == want:
		return StepStaged
	}
	return StepEarlier
}
