package delivery

import (
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/target"
)

// Action is what the hub would do with a deployment.
type Action string

// Actions, in the order in which they are told.
const (
	Create Action = "create" // makes it
	Change Action = "change" // gives it the version at once
	Stage  Action = "stage"  // the version waits in it, for its turn in the rollout
	Wait   Action = "wait"   // does nothing yet
	Remove Action = "remove" // removes it, and its agent uninstalls what it deployed
	Keep   Action = "keep"   // leaves it as it is, for it is not certain that it may go, or what it should be
	Same   Action = "same"   // has nothing to do
)

// DeploymentChange is what would happen to the bundle on one cluster.
type DeploymentChange struct {
	Action    Action `json:"action"`
	Workspace string `json:"workspace,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	// Namespace is that of the deployment, which has the bundle's name.
	Namespace string `json:"namespace,omitempty"`
	// Fields are what differs from what the cluster was told: never a value.
	Fields []string `json:"fields,omitempty"`
	// Added, Changed and Removed are the files of the content that differ.
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Copied are the Secrets and ConfigMaps of the hub that are copied to the cluster, where that is new or they differ.
	Copied []string `json:"copied,omitempty"`
	// Reason says why.
	Reason string `json:"reason,omitempty"`
}

// Changes are what would happen if the bundle were stored as it is here, sorted by action and cluster. Nothing happens
// while the bundle has a Problem.
func (l Look) Changes() []DeploymentChange {
	var list []DeploymentChange
	for _, t := range l.Targets {
		list = append(list, l.change(t))
	}
	refused := map[string]bool{}
	for _, r := range l.Refusals {
		refused[r.Cluster.Status.Namespace] = true
		list = append(list, l.refused(r))
	}
	for _, r := range l.verdict.Remove {
		c := changeOf(Remove, r.Cluster, r.Deployment.Namespace)
		c.Reason = removalReason(r)
		list = append(list, c)
	}
	for _, k := range l.verdict.Keep {
		if !refused[k.Deployment.Namespace] {
			list = append(list, DeploymentChange{Action: Keep, Namespace: k.Deployment.Namespace, Reason: k.Reason})
		}
	}
	if l.Problem != nil {
		list = slices.DeleteFunc(list, func(c DeploymentChange) bool { return c.Namespace == "" || l.facts.at(c.Namespace) == nil })
		for i := range list {
			list[i] = DeploymentChange{Action: Keep, Workspace: list[i].Workspace, Cluster: list[i].Cluster, Namespace: list[i].Namespace,
				Reason: "nothing changes until the bundle is mended"}
		}
	}
	slices.SortStableFunc(list, func(a, b DeploymentChange) int { return order(a.Action) - order(b.Action) })
	return list
}

// removalReason says why, and on what it rests.
func removalReason(r target.Removal) string {
	reason := r.Reason
	for _, group := range r.AbsentGroups {
		reason += fmt.Sprintf("; if there is a ClusterGroup %s after all, it stays", group)
	}
	return reason
}

// at is the bundle's deployment in a namespace.
func (f Facts) at(namespace string) *fleet.BundleDeployment {
	for _, bd := range f.Deployments {
		if bd.Namespace == namespace && f.owns(bd) {
			return bd
		}
	}
	return nil
}

func order(a Action) int {
	return slices.Index([]Action{Create, Change, Stage, Remove, Keep, Wait, Same}, a)
}

func changeOf(action Action, cluster *fleet.Cluster, namespace string) DeploymentChange {
	return DeploymentChange{Action: action, Workspace: cluster.Namespace, Cluster: cluster.Name, Namespace: namespace}
}

// refused is a cluster that is left as it is.
func (l Look) refused(r target.Refusal) DeploymentChange {
	c := changeOf(Keep, r.Cluster, r.Cluster.Status.Namespace)
	c.Reason = r.Err.Error()
	if !r.Quiet {
		c.Reason = r.Field + ": " + c.Reason
	}
	return c
}

// change is what happens to a target in the next pass of the rollout.
func (l Look) change(t target.Target) DeploymentChange {
	p, step := l.places[t.Key()], l.plan.Place[t.Key()]
	c := changeOf(Wait, t.Cluster, t.Cluster.Status.Namespace)
	c.Reason = step.Wait
	switch {
	case p.blocked != "":
		c.Reason = p.blocked
		return c
	case p.deployment == nil:
		if step.Create {
			c.Action, c.Reason, c.Copied = Create, "", copyNames(t)
		}
		return c
	}
	want, err := l.built(t)
	if err != nil {
		c.Action, c.Reason = Keep, err.Error()
		return c
	}
	c.Fields = differing(p.deployment, want)
	if slices.Contains(c.Fields, fieldContent) {
		c.compare(l.facts.Contents[manifestOf(p.deployment.Spec.DeploymentID)], l.Content.manifest)
	}
	have := p.deployment.Spec
	recopied := have.DownstreamResourcesGeneration != want.Spec.DownstreamResourcesGeneration
	if recopied {
		c.Copied = copyNames(t)
	}
	switch {
	case step.Promote || step.Sync:
		c.Action = Change
		if deployment.Same(p.deployment, want) {
			c.Action, c.Fields = Same, nil
		}
	case step.Stage && have.StagedDeploymentID != t.DeploymentID:
		c.Action = Stage
	case recopied: // which waits for no turn
		c.Action, c.Fields = Change, []string{fieldCopies}
	}
	return c
}

// compare lists the files that differ, where both contents are known.
func (c *DeploymentChange) compare(have, want *content.Manifest) {
	if have == nil || want == nil {
		return
	}
	before := map[string]fleet.BundleResource{}
	for _, r := range have.Resources() {
		before[r.Name] = r
	}
	for _, r := range want.Resources() {
		old, ok := before[r.Name]
		switch {
		case !ok:
			c.Added = append(c.Added, r.Name)
		case old != r:
			c.Changed = append(c.Changed, r.Name)
		}
		delete(before, r.Name)
	}
	for _, r := range have.Resources() {
		if _, ok := before[r.Name]; ok {
			c.Removed = append(c.Removed, r.Name)
		}
	}
}

// Count says how often each action is among changes, for one line.
func Count(list []DeploymentChange) string {
	counts := map[Action]int{}
	for _, c := range list {
		counts[c.Action]++
	}
	text := fmt.Sprintf("create %d, change %d, stage %d, remove %d; keep %d, wait %d, same %d", counts[Create], counts[Change],
		counts[Stage], counts[Remove], counts[Keep], counts[Wait], counts[Same])
	return text
}
