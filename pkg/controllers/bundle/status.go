package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/summary"
)

// statusPause is how long a bundle that is under way rests between two writes of its status. That it is ready is said at
// once.
const statusPause = 2 * time.Second

// report writes how far the bundle is, if anything of that is new.
func (h *handler) report(in *input, out outcome, res resources) error {
	bundle := in.bundle
	want := statusOf(in, out)
	ready, text := summary.ReadyCondition(want.Summary, "Cluster")
	mutate := func(status *fleet.BundleStatus) {
		want.Conditions, want.OCIReference = status.Conditions, status.OCIReference
		want.ObservedGeneration, want.ResourcesSHA256Sum = bundle.Generation, res.sum
		*status = *want.DeepCopy()
		if ready {
			h.setReady(status, metav1.ConditionTrue, "", "")
		} else {
			h.setReady(status, metav1.ConditionFalse, "", text)
		}
	}
	changed := bundle.Status.DeepCopy()
	mutate(changed)
	if out.created == 0 {
		changed.NewlyCreated = bundle.Status.NewlyCreated // that nothing more was made is no news of its own
	}
	if equality.Semantic.DeepEqual(bundle.Status, *changed) {
		return nil
	}
	if left := h.pause(bundle); left > 0 && !ready && bundle.Status.ObservedGeneration == bundle.Generation {
		h.Bundles.EnqueueAfter(bundle.Namespace, bundle.Name, left)
		return nil
	}
	return h.writeStatus(bundle, mutate)
}

// pause is how long the status of a bundle is still to rest.
func (h *handler) pause(bundle *fleet.Bundle) time.Duration {
	last, _ := h.reported.Load(bundle.Namespace + "/" + bundle.Name)
	at, ok := last.(time.Time)
	if !ok {
		return 0
	}
	return statusPause - h.Clock.Now().Sub(at)
}

func (h *handler) setReady(status *fleet.BundleStatus, value metav1.ConditionStatus, reason, text string) {
	conditions.SetCondition(&status.Conditions, fleet.BundleConditionReady, value, reason, text, h.Clock.Now())
}

func (h *handler) writeStatus(bundle *fleet.Bundle, mutate func(*fleet.BundleStatus)) error {
	_, err := kube.UpdateStatus(h.Bundles, bundle.Namespace, bundle.Name, func(b *fleet.Bundle) *fleet.BundleStatus { return &b.Status }, mutate)
	h.reported.Store(bundle.Namespace+"/"+bundle.Name, h.Clock.Now())
	return err
}

// statusOf is the status of a bundle, without its conditions. It is bounded whatever the number of clusters.
func statusOf(in *input, out outcome) fleet.BundleStatus {
	plan := out.plan
	status := fleet.BundleStatus{
		NewlyCreated: out.created, Unavailable: plan.Unavailable, MaxUnavailable: plan.MaxUnavailable,
		UnavailablePartitions: plan.UnavailablePartitions, MaxUnavailablePartitions: plan.MaxUnavailablePartitions,
	}
	entries := entriesOf(in, out)
	for _, key := range slices.SortedFunc(maps.Keys(entries), compareKeys) {
		summary.Add(&status.Summary, entries[key])
	}
	summary.Bound(&status.Summary)
	for i, partition := range plan.Partitions {
		if i < len(plan.Members) {
			for _, key := range plan.Members[i] {
				summary.Add(&partition.Summary, entries[key])
			}
		}
		status.PartitionStatus = append(status.PartitionStatus, partition)
	}
	status.PartitionStatus = summary.Partitions(status.PartitionStatus)
	status.Display = fleet.BundleDisplay{
		ReadyClusters: fmt.Sprintf("%d/%d", status.Summary.Ready, status.Summary.DesiredReady),
		State:         string(summary.WorstOf(status.Summary)),
	}
	return status
}

// entriesOf says of each cluster how it is. One that leaves, or was revoked, is not counted.
func entriesOf(in *input, out outcome) map[types.NamespacedName]summary.Entry {
	entries := make(map[types.NamespacedName]summary.Entry, len(in.targets)+len(in.refusals))
	for i := range in.targets {
		t := &in.targets[i]
		key := t.Key()
		p := in.places[key]
		entry := summary.EntryOf(key.String(), p.deployment, t.DeploymentID)
		if in.bundle.Spec.Paused || t.Cluster.Spec.Paused {
			entry.State = summary.State(p.deployment) // what is held back makes it out of sync, and not late
		}
		if entry.State != fleet.Ready {
			entry.Message = firstOf(out.problems[key], p.blocked, entry.Message, out.plan.Place[key].Wait)
		}
		entries[key] = entry
	}
	for i := range in.refusals {
		r := &in.refusals[i]
		if r.Quiet {
			continue
		}
		entry := summary.EntryOf(r.Key().String(), in.places[r.Key()].deployment, "")
		entry.State, entry.Message = fleet.ErrApplied, r.Field+": "+r.Err.Error()
		entries[r.Key()] = entry
	}
	return entries
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func compareKeys(a, b types.NamespacedName) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}
