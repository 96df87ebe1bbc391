package clusterregistration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func created(at time.Time) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) { r.CreationTimestamp = metav1.NewTime(at) }
}

// refusedFor is a request whose status says since when and why it is not granted.
func refusedFor(reason string, at time.Time) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) {
		r.Status.Granted = false
		conditions.SetCondition(&r.Status.Conditions, fleet.RegistrationConditionGranted, metav1.ConditionFalse, reason, "", at)
	}
}

func untaken(at time.Time) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) {
		conditions.SetCondition(&r.Status.Conditions, fleet.RegistrationConditionCredentialReady, metav1.ConditionFalse, "ImportAccountGone", "", at)
	}
}

// ofClient is another client's, which names no token.
func ofClient(id string) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) { r.Spec.ClientID, r.Labels = id, nil }
}

func approvedAt(at time.Time) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) {
		r.Status.Approval = &fleet.RegistrationApproval{Decision: "approve", Time: &metav1.Time{Time: at}}
	}
}

// The time to live is an hour. What is wanted is how much of it is left, as a request may lead to something as long as
// nothing is said.
func TestOnlyWhatLeadsToNothingHasAnEnd(t *testing.T) {
	const ttl = time.Hour
	const never = time.Duration(1<<63 - 1)
	noToken := func(in *input) { in.token, in.importAccountUID, in.tokenOwner = nil, "", "" }
	noAccount := func(in *input) { in.importAccountUID = "" }
	conflict := toCluster(cluster(pinnedTo(otherKey, downUID)))
	old := created(ago(10 * time.Hour))
	recordUsed := func(r *fleet.ClusterRegistration) {
		r.Status.Credentials = []fleet.CredentialRecord{{Digest: "d", Used: true}}
	}
	gone := func(in *input) { in.sameClient, in.matched = nil, nil }
	for name, test := range map[string]struct {
		in   input
		left time.Duration
	}{
		"refused":                                {asked(request(created(ago(ttl/4)), refusedFor("TokenUnknown", ago(ttl/4))), noToken), 3 * ttl / 4},
		"refused too long":                       {asked(request(old, refusedFor("TokenUnknown", ago(3*ttl))), noToken), -2 * ttl},
		"in conflict":                            {asked(request(old, refusedFor("IdentityConflict", ago(2*ttl))), conflict), -ttl},
		"waits for a namespace":                  {asked(request(old, refusedFor("WaitingForNamespace", ago(2*ttl))), func(in *input) { in.placed = nil }), -ttl},
		"nothing was said yet":                   {asked(request(old), noToken), never},
		"it was said to be granted":              {asked(request(old, granted, func(r *fleet.ClusterRegistration) { r.Status.Granted = false }), noToken), never},
		"it is about to be granted":              {asked(request(old, refusedFor("TokenUnknown", ago(2*ttl)))), never},
		"it is about to get its Cluster":         {asked(request(old, refusedFor("WaitingForApproval", ago(2*ttl))), byItself()), never},
		"its grant was taken back just now":      {asked(request(old, granted, refusedFor("Revoked", now)), toCluster(cluster(func(c *fleet.Cluster) { c.Spec.Revoked = true }))), ttl},
		"approved since, yet in conflict":        {asked(request(old, refusedFor("IdentityConflict", ago(2*ttl)), approvedAt(ago(ttl/2))), conflict), ttl / 2},
		"approved in a time to come":             {asked(request(old, refusedFor("IdentityConflict", ago(2*ttl)), approvedAt(now.Add(ttl))), conflict), -ttl},
		"it is being deleted":                    {asked(request(old, refusedFor("Deleted", ago(2*ttl)), func(r *fleet.ClusterRegistration) { r.DeletionTimestamp = &metav1.Time{Time: now} })), never},
		"another manager has it":                 {asked(request(old, refusedFor("X", ago(2*ttl)), func(r *fleet.ClusterRegistration) { r.Labels[names.ClusterManagementLabel] = "x" })), never},
		"the condition has no time":              {asked(request(old, refusedFor("TokenUnknown", now), func(r *fleet.ClusterRegistration) { r.Status.Conditions[0].LastTransitionTime = "" }), noToken), never},
		"created after what the condition says":  {asked(request(refusedFor("TokenUnknown", ago(2*ttl))), noToken), ttl},
		"denied, would be in conflict":           {asked(request(old, refusedFor("IdentityConflict", ago(3*ttl)), refusedFor("Denied", ago(ttl/2)), decidedBy("deny")), conflict), ttl / 2},
		"denied, not told yet":                   {asked(request(old, refusedFor("IdentityConflict", ago(3*ttl)), decidedBy("deny")), conflict), never},
		"denied, would be granted":               {asked(request(old, refusedFor("Denied", ago(3*ttl)), decidedBy("deny"))), never},
		"denied, would get a Cluster":            {asked(request(old, refusedFor("Denied", ago(3*ttl)), decidedBy("deny")), byItself()), never},
		"denied, its Cluster is gone":            {asked(request(old, refusedFor("Denied", ago(3*ttl)), decidedBy("deny"), func(r *fleet.ClusterRegistration) { r.Status.ClusterName = edge }), byItself(), gone), never},
		"denied twice, would be granted":         {asked(request(old, refusedFor("Denied", ago(3*ttl)), decidedBy("deny")), func(in *input) { in.deniedTwin = request(named("request-2")) }), never},
		"denied, its token is gone":              {asked(request(old, refusedFor("Denied", ago(3*ttl)), decidedBy("deny")), noToken), -2 * ttl},
		"denied, granted before":                 {asked(request(old, granted, used, refusedFor("Denied", ago(3*ttl)), decidedBy("deny")), noToken), -2 * ttl},
		"granted and used":                       {asked(request(old, granted, used, untaken(ago(3*ttl))), noToken), never},
		"granted and used, by its record":        {asked(request(old, granted, recordUsed, untaken(ago(3*ttl))), noToken), never},
		"granted, waits to be taken":             {asked(request(old, granted)), never},
		"granted, the account of the token ends": {asked(request(old, granted), noAccount), never},
		"granted, and never taken":               {asked(request(old, granted, untaken(ago(3*ttl))), noToken), -2 * ttl},
		"the same, and it can be taken again":    {asked(request(old, granted, untaken(ago(3*ttl)))), never},
		"granted, its Cluster is gone":           {asked(request(old, granted, untaken(ago(3*ttl))), noToken, gone), never},
		"granted by an earlier hub":              {asked(request(old, granted, func(r *fleet.ClusterRegistration) { r.Status.Conditions = nil }), noToken), never},
	} {
		t.Run(name, func(t *testing.T) {
			test.in.now = now
			test.in.config.Registration.TTLUngranted.Duration = ttl
			end, ends := endOf(test.in, decide(test.in))
			left := never
			if ends {
				left = end.Sub(now)
			}
			assert.Equal(t, test.left, left)
		})
	}
}

func TestWithoutATimeToLiveTheDefaultHolds(t *testing.T) {
	for _, ttl := range []time.Duration{0, -time.Hour} {
		in := asked(request(refusedFor("TokenUnknown", now)), func(in *input) { in.token, in.now = nil, now })
		in.config.Registration.TTLUngranted.Duration = ttl
		end, ends := endOf(in, decide(in))
		assert.True(t, ends)
		assert.Equal(t, 24*time.Hour, end.Sub(now))
	}
}

// Anybody may write the label that leaves a request to another manager.
func TestARequestForAnotherManagerThatNobodyAnswersEnds(t *testing.T) {
	elsewhere := func(r *fleet.ClusterRegistration) { r.Labels[names.ClusterManagementLabel] = "someone" }
	in := asked(request(elsewhere))
	end, ends := endOf(in, decide(in))
	assert.True(t, ends)
	assert.Equal(t, in.request.CreationTimestamp.Add(ungrantedTTL(in.config)), end)

	in = asked(request(elsewhere, granted))
	_, ends = endOf(in, decide(in))
	assert.False(t, ends, "the other manager has answered it")

	in = asked(request(elsewhere, decidedBy("deny")))
	assert.Equal(t, reasonDenied, decide(in).reason, "a denial holds for it too")
}
