package bundle

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/target"
)

// maxRounds is how many rounds of a rollout are made in one run, before its status is written and other bundles get the
// worker.
const maxRounds = 10

// finalError is something that trying again does not mend: a change of the bundle, or of what it names, does.
type finalError struct {
	reason string
	err    error
}

func (e *finalError) Error() string { return e.err.Error() }

func (e *finalError) Unwrap() error { return e.err }

// deploy is one look at a bundle.
func (h *handler) deploy(bundle *fleet.Bundle) error {
	err := h.deployAll(bundle)
	var final *finalError
	if errors.As(err, &final) {
		return h.reportTrouble(bundle, final)
	}
	return err
}

func (h *handler) deployAll(bundle *fleet.Bundle) error {
	still, err := h.judgeAgent(bundle)
	if err != nil {
		return err
	}
	res, err := h.resourcesOf(bundle)
	if err != nil {
		return err
	}
	in, err := h.observe(bundle, res)
	if err != nil {
		return err
	}
	in.still = still
	h.sizes.Store(bundle.Namespace+"/"+bundle.Name, len(in.targets))
	if err := checkValues(in); err != nil {
		return err
	}
	if err := checkTargets(in); err != nil {
		return err
	}
	if err := h.observeCopies(in); err != nil {
		return err
	}
	if len(in.targets) > 0 && !still {
		if err := h.ensureContent(bundle, res); err != nil {
			return err
		}
	}
	out, err := h.roll(in)
	if err != nil {
		return err
	}
	h.remember(in)
	if !still {
		out.retry = errors.Join(out.retry, h.prune(in), h.sweepCopies(in))
	}
	if err := h.report(in, out, res); err != nil {
		return errors.Join(err, out.retry)
	}
	h.goOn(bundle, out)
	return out.retry
}

// goOn has a rollout go on at once. What was found to be otherwise than the cache has it is looked at anew less and less
// often: an API server that says so every time must not be asked without end.
func (h *handler) goOn(bundle *fleet.Bundle, out outcome) {
	key := bundle.Namespace + "/" + bundle.Name
	if !out.behind {
		h.behind.Delete(key)
		if out.more {
			h.Bundles.EnqueueAfter(bundle.Namespace, bundle.Name, 0)
		}
		return
	}
	known, _ := h.behind.Load(key)
	last, _ := known.(time.Duration)
	h.behind.Store(key, min(2*last+soon, kube.RecentLife))
	h.Bundles.EnqueueAfter(bundle.Namespace, bundle.Name, last)
}

// checkValues keeps a bundle waiting whose values are not there: with others, or none, something else would be deployed.
func checkValues(in *input) error {
	bundle := in.bundle
	if bundle.Spec.ValuesHash == "" {
		return nil
	}
	wait := func(what string) error {
		return &finalError{reason: "WaitingForValues", err: fmt.Errorf("waiting for Secret %s/%s with the bundle's Helm values, of type %s: it %s",
			bundle.Namespace, bundle.Name, fleet.SecretTypeBundleValues, what)}
	}
	if in.facts.Values == nil {
		return wait("does not exist")
	}
	hash, err := target.ValuesHash(in.facts.Values)
	if err != nil {
		return err
	}
	if hash != bundle.Spec.ValuesHash {
		return wait("does not have the digest that spec.valuesHash names")
	}
	return nil
}

// checkTargets tells a fault of the bundle itself once, instead of once for each cluster: it keeps all of them.
func checkTargets(in *input) error {
	var first *target.Refusal
	refused := 0
	for i := range in.refusals {
		r := &in.refusals[i]
		switch {
		case r.Quiet:
			continue
		case first == nil:
			first = r
		case first.Field != r.Field || first.Err.Error() != r.Err.Error():
			return nil
		}
		refused++
	}
	if refused < 2 || len(in.targets) > 0 {
		return nil
	}
	return &finalError{reason: "InvalidBundle", err: fmt.Errorf("%s: %w", first.Field, first.Err)}
}

// outcome is what came of a look.
type outcome struct {
	decision
	// created is how many deployments were made.
	created int
	// retry are errors of single clusters that trying again may mend.
	retry error
	// more says that the rollout may go on at once, behind that something is not as the cache had it.
	more, behind bool
}

// roll makes rounds of the rollout as long as each of them lets the next go on.
func (h *handler) roll(in *input) (outcome, error) {
	var out outcome
	failed := map[types.NamespacedName]string{}
	for range maxRounds {
		d, err := decide(in)
		if err != nil {
			return out, &finalError{reason: "InvalidRollout", err: err}
		}
		out.decision = d
		result := h.applyAll(d.changes)
		out.created += result.created
		out.more = d.plan.More && result.created > 0
		out.retry = errors.Join(out.retry, result.retry)
		for key, text := range result.problems {
			failed[key] = text
			// What failed does not take part in the next round, or it would use up that one too.
			in.places[key].blocked = text
		}
		if result.behind {
			out.behind = true
			break
		}
		if !out.more {
			if len(d.changes) > 0 {
				out.recount(in)
			}
			break
		}
	}
	for key, text := range failed {
		out.problems[key] = text
	}
	return out, nil
}

// recount makes the figures of a plan those after its last round, which the next look would find otherwise, and write.
func (out *outcome) recount(in *input) {
	if after, err := decide(in); err == nil {
		out.plan = after.plan
	}
}

// reportTrouble says why nothing is done for a bundle. What its clusters have stays as it is.
func (h *handler) reportTrouble(bundle *fleet.Bundle, trouble *finalError) error {
	return h.writeStatus(bundle, func(status *fleet.BundleStatus) {
		h.setReady(status, metav1.ConditionFalse, trouble.reason, trouble.Error())
		status.ObservedGeneration = bundle.Generation
	})
}
