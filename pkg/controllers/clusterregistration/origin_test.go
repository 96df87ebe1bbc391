package clusterregistration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// proof is what the hub is to know of the origin of requests.
type proof struct{ registration.Provenance }

func (p *proof) Current() registration.Provenance { return p.Provenance }

func (p *proof) Subscribe(func()) {}

// checked is that the API server checks the origin.
var checked = registration.Provenance{Reason: registration.ProvenanceInForce}

// unchecked is that it does not.
var unchecked = registration.Provenance{Reason: registration.ProvenanceNotServed, Message: "update it"}

func originIs(p registration.Provenance) change[*input] {
	return func(in *input) { in.provenance = p }
}

// connected is a Cluster whose agent the hub hears of.
func connected(c *fleet.Cluster) {
	for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid} {
		conditions.SetCondition(&c.Status.Conditions, kind, metav1.ConditionTrue, "Test", "", now)
	}
}

func isFalse(kind string) change[*fleet.Cluster] {
	return func(c *fleet.Cluster) {
		conditions.SetCondition(&c.Status.Conditions, kind, metav1.ConditionFalse, "Test", "", now)
	}
}

func unlabelled(r *fleet.ClusterRegistration) { r.Labels = nil }

// Attack 4: whoever may say what he likes of where his request comes from harms no cluster that has an agent.
func TestWhereTheOriginIsNotCheckedOnlyTheKeyProvesAnything(t *testing.T) {
	imported := importedWith(importUID, downUID)
	other := pinnedTo(otherKey, downUID)
	nothing := registration.Provenance{}
	byReplace := decidedBy("replace")
	for name, test := range map[string]struct {
		request *fleet.ClusterRegistration
		cluster *fleet.Cluster
		origin  registration.Provenance
		outcome outcome
		reason  string
	}{
		"bound to another key, imported, checked":   {request(), cluster(other, imported), checked, grant, "Granted"},
		"bound to another key, imported, unchecked": {request(), cluster(other, imported), unchecked, refuse, "IdentityConflict"},
		"bound to another key, imported, unknown":   {request(), cluster(other, imported), nothing, wait, "WaitingForProvenance"},
		"bound to another key, no token named":      {request(unlabelled, keyless), cluster(other, imported), checked, refuse, "IdentityConflict"},
		"the same, unknown":                         {request(unlabelled, keyless), cluster(other, imported), nothing, refuse, "IdentityConflict"},
		"bound to another key, by a person's word":  {request(byReplace), cluster(other, imported), unchecked, grant, "Granted"},
		"bound to this key, unchecked":              {request(), cluster(pinnedTo(agentKey, downUID), connected), unchecked, grant, "Granted"},
		"bound to this key, unknown":                {request(), cluster(pinnedTo(agentKey, downUID), connected), nothing, grant, "Granted"},
		"connected without a key, checked":          {request(keyless), cluster(connected), checked, grant, "Granted"},
		"connected without a key, unchecked":        {request(keyless), cluster(connected), unchecked, refuse, "IdentityConflict"},
		"connected without a key, unknown":          {request(keyless), cluster(connected), nothing, wait, "WaitingForProvenance"},
		"connected, a first key, unchecked":         {request(), cluster(connected), unchecked, refuse, "IdentityConflict"},
		"connected, by a person's word":             {request(byReplace), cluster(connected), unchecked, grant, "Granted"},
		"connected, no token named":                 {request(unlabelled, keyless), cluster(connected), checked, refuse, "IdentityConflict"},
		"silent, unchecked":                         {request(keyless), cluster(connected, isFalse(fleet.ClusterConditionAgentConnected)), unchecked, grant, "Granted"},
		"its credential is dead, unchecked":         {request(keyless), cluster(connected, isFalse(fleet.ClusterConditionCredentialValid)), unchecked, grant, "Granted"},
		"never registered, unchecked":               {request(keyless), cluster(), unchecked, grant, "Granted"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(asked(test.request, toCluster(test.cluster), originIs(test.origin)))
			require.Equal(t, test.outcome, d.outcome, d.message)
			assert.Equal(t, test.reason, d.reason)
			if d.outcome != grant {
				assert.Nil(t, d.pin)
			}
		})
	}
}

func TestAConflictOfUnknownOriginSaysWhyAndWhatToDo(t *testing.T) {
	d := decide(asked(request(), toCluster(cluster(connected)), originIs(unchecked)))
	for _, part := range []string{"cluster edge", agentKey.Fingerprint(), "NotServed", "ProvenanceEnforced", "`fleet registration approve --replace request-1 -n fleet-default`, else `fleet registration deny request-1 -n fleet-default`"} {
		assert.Contains(t, d.message, part)
	}
	d = decide(asked(request(unlabelled, keyless), toCluster(cluster(connected))))
	assert.Contains(t, d.message, "fleet.cattle.io/registration-token")
}

// What waits for the proof goes on when there is one.
func TestARequestIsGrantedOnceTheOriginIsKnownToBeChecked(t *testing.T) {
	h := joining(t)
	c := cluster(pinnedTo(otherKey, downUID), importedWith(importUID, downUID))
	h.clusters.Add(c)
	h.proof.Provenance = registration.Provenance{}
	require.NoError(t, h.look(t, "request-1"))
	assert.False(t, h.live("request-1").Status.Granted)
	h.registrations.ForgetTimers()
	h.proof.Provenance = checked
	h.onProvenance()
	_, again := h.registrations.After(workspace, "request-1")
	assert.True(t, again)
	require.NoError(t, h.look(t, "request-1"))
	assert.True(t, h.live("request-1").Status.Granted)
}
