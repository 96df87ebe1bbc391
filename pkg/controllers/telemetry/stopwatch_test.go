package telemetry

import (
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestRequestsAreMeasuredFromTheirFirstSight(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	s := newStopwatch(clock)
	r0, r1 := request("r"), request("r", isTrue(granted, "Granted"))
	r2 := request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))
	assert.Zero(t, s.observe(nil, r0, false))
	clock.SetTime(began.Add(2 * time.Second))
	assert.Zero(t, s.observe(r0, r0, false))
	assert.Equal(t, lap{grant: 2 * time.Second, hasGrant: true}, s.observe(r0, r1, false))
	clock.SetTime(began.Add(3 * time.Second))
	assert.Zero(t, s.observe(r1, r1, false), "a grant is measured once")
	clock.SetTime(began.Add(5 * time.Second))
	assert.Equal(t, lap{use: 3 * time.Second, hasUse: true, join: 5 * time.Second, hasJoin: true}, s.observe(r1, r2, false))
	assert.Zero(t, s.observe(r2, r2, false))
	assert.Empty(t, s.runs)
}

// How long a person takes to decide is no figure of the hub.
func TestARequestThatWaitsForAPersonIsMeasuredFromItsApproval(t *testing.T) {
	waiting := request("r", isFalse(granted, "WaitingForApproval"))
	approved := waiting.DeepCopy()
	approved.Status.Approval = approval("approve", "jane", "", began)
	conflict := request("r", isFalse(granted, "IdentityConflict"))
	conflict.Status.Approval = approved.Status.Approval
	replaced := conflict.DeepCopy()
	replaced.Status.Approval = approval("replace", "jane", "", began)
	let := func(r *fleet.ClusterRegistration, conditions ...genericcondition.GenericCondition) *fleet.ClusterRegistration {
		out := request("r", conditions...)
		out.Status.Approval = r.Status.Approval
		return out
	}
	in := lap{grant: time.Second, hasGrant: true}
	use := lap{use: time.Second, hasUse: true, join: 2 * time.Second, hasJoin: true}
	for name, test := range map[string]struct {
		steps []*fleet.ClusterRegistration // an hour passes before each but the last two, and then a second
		want  []lap
	}{
		"approved": {[]*fleet.ClusterRegistration{request("r"), waiting, approved, let(approved, isTrue(granted, "Granted")),
			let(approved, isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))}, []lap{in, use}},
		"approved in vain, then with its key": {[]*fleet.ClusterRegistration{request("r"), waiting, approved, conflict, replaced,
			let(replaced, isTrue(granted, "Granted")), let(replaced, isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))}, []lap{in, use}},
		"what kept it out has gone": {[]*fleet.ClusterRegistration{request("r"), waiting, request("r", isTrue(granted, "Granted")),
			request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))}, []lap{{}, {}}},
		"approval and grant are seen at once": {[]*fleet.ClusterRegistration{request("r"), waiting, let(approved, isTrue(granted, "Granted")),
			let(approved, isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))}, []lap{{}, {}}},
		"approved once more when it was granted": {[]*fleet.ClusterRegistration{request("r"), request("r"), request("r", isTrue(granted, "Granted")),
			let(approved, isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))},
			[]lap{{grant: time.Hour + time.Second, hasGrant: true}, {use: time.Second, hasUse: true, join: time.Hour + 2*time.Second, hasJoin: true}}},
	} {
		clock := clocktesting.NewFakePassiveClock(began)
		s := newStopwatch(clock)
		var before *fleet.ClusterRegistration
		for i, after := range test.steps {
			if last := i - len(test.steps) + 2; last >= 0 {
				clock.SetTime(clock.Now().Add(time.Second))
				assert.Equal(t, test.want[last], s.observe(before, after, false), "%s, step %d", name, i)
			} else {
				clock.SetTime(clock.Now().Add(time.Hour))
				assert.Zero(t, s.observe(before, after, false), "%s, step %d", name, i)
			}
			before = after
		}
		assert.Empty(t, s.runs, name)
	}
}

// The approval itself is seen, whenever the request came.
func TestARequestOfBeforeTheStartIsMeasuredFromItsApproval(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	s := newStopwatch(clock)
	waiting := request("r", isFalse(granted, "WaitingForApproval"))
	approved := waiting.DeepCopy()
	approved.Status.Approval = approval("approve", "jane", "", began)
	done := request("r", isTrue(granted, "Granted"))
	done.Status.Approval = approved.Status.Approval
	assert.Zero(t, s.observe(nil, waiting, true))
	assert.Zero(t, s.observe(waiting, approved, false))
	clock.SetTime(began.Add(time.Second))
	assert.Equal(t, lap{grant: time.Second, hasGrant: true}, s.observe(approved, done, false))
}

func TestWhatCannotBeMeasuredIsNot(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	s := newStopwatch(clock)
	r1, r2 := request("r", isTrue(granted, "Granted")), request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))
	assert.Zero(t, s.observe(nil, request("r"), true), "it was there at the start")
	assert.Zero(t, s.observe(request("r"), r1, false))

	s.observe(nil, request("gap"), false)
	clock.SetTime(began.Add(time.Second))
	r2.UID = "uid-of-gap"
	assert.Equal(t, lap{grant: time.Second, hasGrant: true, join: time.Second, hasJoin: true}, s.observe(nil, r2, true), "grant and use at once")

	s.observe(nil, request("gone"), false)
	s.observe(request("gone"), nil, false)
	assert.Empty(t, s.runs)
}
