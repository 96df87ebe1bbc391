package bundle

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/target"
)

// settled is all that a deployment is made of, in short. One that was found to be in order is not built and compared again
// until something of that is another: that is most of what a look costs, and nearly all looks are for one deployment of
// many whose agent has reported.
type settled struct {
	// deployment and secret are the versions of what exists.
	deployment, secret string
	// id and step are what the rollout wants.
	id   string
	step target.Step
	// generation and labels are the bundle's; the rest of the options is in the ID.
	generation      int64
	labels          string
	paused, outside bool
	copies          int64
	copiesDue       bool
}

// seenAs is what a deployment would be settled as.
func seenAs(in *input, t target.Target, step target.Step, p *place) settled {
	if p.deployment == nil {
		return settled{step: step}
	}
	step.Wait = ""
	s := settled{
		deployment: p.deployment.ResourceVersion, id: t.DeploymentID, step: step,
		generation: in.bundle.Generation, labels: in.labels,
		paused: t.Cluster.Spec.Paused, outside: t.Cluster.Status.Scheduled && !t.Cluster.Status.ActiveSchedule,
		copies: p.copies.generation(), copiesDue: p.copies.due,
	}
	if p.secret != nil {
		s.secret = p.secret.ResourceVersion
	}
	return s
}

func (h *handler) settledAs(uid types.UID) settled {
	known, _ := h.settled.Load(uid)
	s, _ := known.(settled)
	return s
}

// remember keeps what was found to be in order.
func (h *handler) remember(in *input) {
	for _, p := range in.places {
		if p.deployment != nil && p.settled.deployment != "" {
			h.settled.Store(p.deployment.UID, p.settled)
		}
	}
}
