package delivery

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/target"
)

// Look is what the hub would make of a bundle now.
type Look struct {
	facts    Facts
	Content  Content
	Targets  []target.Target
	Refusals []target.Refusal
	plan     target.Plan
	verdict  target.Verdict
	places   map[types.NamespacedName]place
	// Problem says why nothing at all is done for the bundle.
	Problem error
}

// At looks at a bundle.
func At(facts Facts) Look {
	l := Look{facts: facts, Content: contentOf(facts.Bundle), places: map[types.NamespacedName]place{}}
	l.Targets, l.Refusals = target.Find(facts.Facts, l.Content.ID)
	for _, cluster := range facts.Clusters {
		l.places[keyOf(cluster)] = facts.place(cluster)
	}
	for _, t := range l.Targets {
		if p := l.places[t.Key()]; p.blocked == "" {
			if _, missing, _ := l.copies(t); missing != "" {
				p.blocked = "downstreamResources: " + missing
				l.places[t.Key()] = p
			}
		}
	}
	var err error
	if l.plan, err = target.Rollout(facts.Bundle, l.placements()); err != nil {
		l.Problem = err
	}
	if problem := target.Problem(facts.Facts); problem != nil {
		l.Problem = problem
	}
	if err := checkValues(facts.Facts); err != nil {
		l.Problem = err
	}
	if l.Content.Problem != "" {
		l.Problem = errors.New(l.Content.Problem)
	}
	l.verdict = target.Unwanted(facts.Facts, l.Targets, l.Refusals, facts.own(), facts.Outside)
	return l
}

// checkValues says of a bundle whose values are in a Secret that they are not there.
func checkValues(facts target.Facts) error {
	want := facts.Bundle.Spec.ValuesHash
	if want == "" {
		return nil
	}
	if facts.Values == nil {
		return fmt.Errorf("spec.valuesHash: there is no Secret %s/%s with the bundle's Helm values, or you may not read it", facts.Bundle.Namespace, facts.Bundle.Name)
	}
	hash, err := target.ValuesHash(facts.Values)
	if err == nil && hash != want {
		err = fmt.Errorf("spec.valuesHash: the Secret %s/%s has another digest than the bundle names", facts.Bundle.Namespace, facts.Bundle.Name)
	}
	return err
}

// placements are the targets that take part in the rollout.
func (l Look) placements() []target.Placement {
	var list []target.Placement
	for _, t := range l.Targets {
		p := l.places[t.Key()]
		if p.deployment == nil && p.blocked != "" {
			continue
		}
		list = append(list, target.Placement{Target: t, Deployment: p.deployment, Offline: isSilent(t.Cluster) || isHeld(t.Cluster)})
	}
	return list
}

// whole is a step that takes a target to the end of the rollout.
var whole = target.Step{Create: true, Stage: true, Promote: true, Sync: true}

// built is the deployment of a target as it is at the end of the rollout. Its values are in no field of it.
func (l Look) built(t target.Target) (*fleet.BundleDeployment, error) {
	existing := l.places[t.Key()].deployment
	in := deployment.Input{
		Bundle: l.facts.Bundle, Target: t, Step: whole, Namespace: t.Cluster.Status.Namespace, Existing: existing,
	}
	if l.Content.From == "" {
		in.Content = l.Content.ID
	}
	copies, _, known := l.copies(t)
	switch {
	case known:
		in.Copies = copies
	case existing != nil:
		in.Copies = existing.Spec.DownstreamResourcesGeneration
	}
	out, err := deployment.Build(in)
	return out.Deployment, err
}

// Deployments are what the hub writes for each cluster at the end of the rollout, each with its values in it: the object
// alone says what is deployed. What is on the hub already is not looked at. missing says of which of the wanted clusters there
// is none.
func (l Look) Deployments(wanted func(workspace, name string) bool) (list []*fleet.BundleDeployment, missing []error) {
	for _, t := range l.Targets {
		if !wanted(t.Cluster.Namespace, t.Cluster.Name) {
			continue
		}
		p := l.places[t.Key()]
		if t.Cluster.Status.Namespace == "" {
			missing = append(missing, fmt.Errorf("cluster %s: %s", t.Key(), p.blocked))
			continue
		}
		in := deployment.Input{Bundle: l.facts.Bundle, Target: t, Step: whole, Namespace: t.Cluster.Status.Namespace}
		if l.Content.From == "" {
			in.Content = l.Content.ID
		}
		out, err := deployment.Build(in)
		if err != nil {
			missing = append(missing, fmt.Errorf("cluster %s: %w", t.Key(), err))
			continue
		}
		bd := out.Deployment
		bd.Finalizers = nil
		bd.Spec.Options, bd.Spec.StagedOptions, bd.Spec.ValuesHash = t.Options, t.Options, ""
		list = append(list, bd)
	}
	for _, r := range l.Refusals {
		if !r.Quiet && wanted(r.Cluster.Namespace, r.Cluster.Name) {
			missing = append(missing, r)
		}
	}
	return list, missing
}

// partitionOf is the first partition that a cluster is in.
func (l Look) partitionOf(key types.NamespacedName) string {
	for i, members := range l.plan.Members {
		for _, member := range members {
			if member == key && i < len(l.plan.Partitions) {
				return l.plan.Partitions[i].Name
			}
		}
	}
	return ""
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
