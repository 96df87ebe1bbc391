package telemetry

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// maxTimed bounds how many bundles, and how many deployments, are timed at once. What is beyond is not measured.
const maxTimed = 100_000

// timer measures how long what this hub saw begin takes to reach a version. It is used by one goroutine, the one that the
// informer tells of a kind.
type timer[V comparable] struct {
	clock clock.PassiveClock
	runs  map[types.UID]timed[V]
}

// timed is what a version was seen for first.
type timed[V comparable] struct {
	version V
	seen    time.Time
}

func newTimer[V comparable](c clock.PassiveClock) *timer[V] {
	return &timer[V]{clock: c, runs: map[types.UID]timed[V]{}}
}

// begin starts to measure a version, in the place of an earlier one.
func (t *timer[V]) begin(uid types.UID, version V) {
	if _, there := t.runs[uid]; there || len(t.runs) < maxTimed {
		t.runs[uid] = timed[V]{version, t.clock.Now()}
	}
}

func (t *timer[V]) stop(uid types.UID) { delete(t.runs, uid) }

// reached ends the measurement of a version, if it is under way.
func (t *timer[V]) reached(uid types.UID, version V) (time.Duration, bool) {
	run, there := t.runs[uid]
	if !there || run.version != version {
		return 0, false
	}
	delete(t.runs, uid)
	return t.clock.Now().Sub(run.seen), true
}

// timeBundle measures from a change of a bundle until it is Ready. How long somebody takes is no figure of the hub: one that
// is paused or refused is not measured.
func timeBundle(t *timer[int64], before, after *fleet.Bundle, first bool) (time.Duration, bool) {
	if after == nil {
		t.stop(before.UID)
		return 0, false
	}
	ready := bundleRow.of(after.Status.Conditions)
	switch {
	case after.DeletionTimestamp != nil || after.Spec.Paused || isRefused(after):
		t.stop(after.UID)
	case !first && (before == nil || before.Generation != after.Generation):
		t.begin(after.UID, after.Generation)
	}
	if ready == nil || ready.Status != corev1.ConditionTrue || after.Status.ObservedGeneration != after.Generation {
		return 0, false
	}
	return t.reached(after.UID, after.Generation)
}

// timeDeployment measures from when a version was released to a cluster until its agent says that it applied it.
func timeDeployment(t *timer[string], before, after *fleet.BundleDeployment, first bool) (time.Duration, bool) {
	if after == nil {
		t.stop(before.UID)
		return 0, false
	}
	want := after.Spec.DeploymentID
	switch {
	case after.DeletionTimestamp != nil || want == "":
		t.stop(after.UID)
		return 0, false
	case !first && (before == nil || before.Spec.DeploymentID != want) && after.Status.AppliedDeploymentID != want:
		t.begin(after.UID, want)
	}
	if after.Status.AppliedDeploymentID != want {
		return 0, false
	}
	return t.reached(after.UID, want)
}
