package bundle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/target"
)

// decision is what is to be written in one round.
type decision struct {
	plan    target.Plan
	changes []change
	// problems say of single clusters why they cannot be served. They stop nobody else.
	problems map[types.NamespacedName]string
}

// change is what has to be written for one cluster: the Secret first, then the deployment that names its digest, and a
// Secret that is no longer needed last.
type change struct {
	key   types.NamespacedName
	place *place
	out   deployment.Output
	// create says that there is no deployment yet. write and secret say what differs; drop is a Secret without use.
	create, write, secret, drop bool
}

// decide makes the next round of a bundle's rollout.
func decide(in *input) (decision, error) {
	d := decision{problems: map[types.NamespacedName]string{}}
	var err error
	if d.plan, err = target.Rollout(in.bundle, placements(in)); err != nil {
		return d, err
	}
	for i := range in.targets {
		key := in.targets[i].Key()
		p := in.places[key]
		if p.blocked != "" {
			continue
		}
		c, needed, err := decideOne(in, in.targets[i], d.plan.Place[key], p)
		if err != nil {
			d.problems[key] = err.Error()
			continue
		}
		if c.out.Waiting {
			d.problems[key] = fmt.Sprintf("the Secret %s/%s with the values of the version on the cluster is missing or changed; the agent waits until the next version is released to it",
				p.namespace, in.bundle.Name)
		}
		switch {
		case needed && in.still:
			d.problems[key] = unwritten
		case needed:
			d.changes = append(d.changes, c)
		}
	}
	return d, nil
}

// placements are the targets that take part in the rollout: a cluster without a place would only use up its limits.
func placements(in *input) []target.Placement {
	list := make([]target.Placement, 0, len(in.targets))
	for i := range in.targets {
		p := in.places[in.targets[i].Key()]
		if p.deployment == nil && p.blocked != "" {
			continue
		}
		list = append(list, target.Placement{
			Target: in.targets[i], Deployment: p.deployment, Offline: isOffline(in.targets[i].Cluster) || isHeld(in.targets[i].Cluster),
		})
	}
	return list
}

func decideOne(in *input, t target.Target, step target.Step, p *place) (change, bool, error) {
	if p.deployment == nil && !step.Create {
		return change{}, false, nil
	}
	seen := seenAs(in, t, step, p)
	if seen == p.settled {
		return change{}, false, nil
	}
	build := deployment.Input{
		Bundle: in.bundle, Target: t, Step: step, Namespace: p.namespace, Content: in.content, Existing: p.deployment,
		Copies: p.copies.generation(),
	}
	if p.secret != nil {
		values := deployment.ValuesIn(p.secret)
		build.Values = &values
	}
	out, err := deployment.Build(build)
	if err != nil {
		return change{}, false, err
	}
	c := change{key: t.Key(), place: p, out: out}
	c.create = p.deployment == nil
	c.write = c.create || !deployment.Same(p.deployment, out.Deployment)
	c.secret = out.Secret != nil && (p.secret == nil || !deployment.SameSecret(p.secret, out.Secret))
	c.drop = out.Secret == nil && !out.Waiting && p.secret != nil
	needed := c.write || c.secret || c.drop || p.copies.due
	if !needed && !out.Waiting {
		p.settled = seen
	}
	return c, needed, nil
}
