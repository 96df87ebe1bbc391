package bundledeployment

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rancher/fleet/pkg/agent/hub"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/summary"
)

// report writes what has changed of the status, as one patch, and nothing where nothing has.
func (p *pass) report(ctx context.Context) error {
	p.memory.keep(p.bd.Name, nil)
	if sameReport(p.known, &p.status) {
		return nil
	}
	shown := &fleet.BundleDeployment{Spec: p.bd.Spec, Status: p.status}
	p.status.Display = summary.Display(shown)
	patch, err := statusPatch(p.known, &p.status)
	if err != nil || patch == nil {
		return err
	}
	p.memory.keep(p.bd.Name, p.status.DeepCopy()) // before the write: the watch may show it before the answer comes
	// An agent that ends, because it has just upgraded itself, still says what it did.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Pace.Report)
	defer cancel()
	written, err := p.session.PatchDeploymentStatus(ctx, p.bd.Namespace, p.bd.Name, patch)
	p.Metrics.Reported(err == nil)
	switch hub.AnswerOf(err) {
	case hub.OK:
		p.memory.wrote(written)
		return nil
	case hub.Missing:
		return nil // the watch tells, and asks anew
	case hub.Unauthorized:
		if p.session.Refused != nil {
			p.session.Refused()
		}
	}
	return fmt.Errorf("status of %s/%s: %w", p.bd.Namespace, p.bd.Name, err)
}

// sameReport compares what the agent says in two statuses. What is shown follows from it, and the hub writes that too.
func sameReport(a, b *fleet.BundleDeploymentStatus) bool {
	x, y := *a, *b
	x.Display, y.Display = fleet.BundleDeploymentDisplay{}, fleet.BundleDeploymentDisplay{}
	return equality.Semantic.DeepEqual(x, y)
}

// statusPatch is the merge patch between two statuses, nil where there is no difference.
func statusPatch(before, after *fleet.BundleDeploymentStatus) ([]byte, error) {
	old, err := json.Marshal(map[string]any{"status": before})
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	wanted, err := json.Marshal(map[string]any{"status": after})
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	patch, err := jsonpatch.CreateMergePatch(old, wanted)
	if err != nil {
		return nil, fmt.Errorf("comparing two statuses: %w", err)
	}
	if string(patch) == "{}" {
		return nil, nil
	}
	return patch, nil
}
