package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Lists and explain say the same of a cluster.
func TestWhatAClusterWaitsFor(t *testing.T) {
	silent := becomes(no(fleet.ClusterConditionAgentConnected, "Silent", "no heartbeat since noon", time.Hour))
	readmitted := becomes(no(fleet.ClusterConditionCredentialValid, "Revoked", "its agent has to register anew", time.Hour))
	for name, test := range map[string]struct {
		facts           Facts
		state, waitsFor string
	}{
		"a person, though it is connected": {byAgent(connected, asked("new", 2*time.Hour, anotherKey, refused(ReasonIdentityConflict))), "Connected", "request request-new: IdentityConflict"},
		"nothing, when others are refused": {byAgent(connected, asked("new", 2*time.Hour, refused("TokenNotForThisCluster"))), "Connected", ""},
		"nothing, when others are denied":  {byAgent(connected, asked("new", 2*time.Hour, anotherKey, refused(ReasonDenied))), "Connected", ""},
		"an image, though it is connected": {byAgent(connected, becomes(no(fleet.ClusterConditionAgentUpgraded, "ImagePull", "no such image", time.Hour))), "Connected", "its agent's upgrade: ImagePull"},
		"a token, when it is silent":       {byAgent(connected, silent, asked("new", 2*time.Hour, refused("TokenUnknown"))), "Silent", "request request-new: TokenUnknown"},
		"its denial to be overruled":       {byAgent(placed, asked("new", time.Minute, refused(ReasonDenied))), "Registering", "request request-new: Denied"},
		"its end of revocation":            {byAgent(connected, revoke, asked("old", time.Hour, refused(ReasonRevoked))), "Revoked", "spec.revoked of the Cluster to be taken off"},
		"a new request, readmitted":        {byAgent(connected, readmitted, asked("old", time.Hour, refused(ReasonRevoked))), "CredentialInvalid", "its agent has to register anew"},
		"an answer":                        {nobody(asked("new", time.Minute)), StateRequested, "request request-new: the hub has not answered yet"},
		"its heartbeat, once it is granted": {byAgent(placed, asked("old", time.Minute, refused("TokenUnknown")), asked("new", time.Hour, granted)), "Registering",
			"no agent has used a credential of this hub"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explain(test.facts)
			assert.Equal(t, test.state, e.State)
			assert.Equal(t, test.waitsFor, e.WaitsFor)
		})
	}
}

// The token that the agent lives by counts, not the one of somebody who was refused since.
func TestTheTokenIsThatOfTheRequestThatTheAgentLivesBy(t *testing.T) {
	f := byAgent(connected, asked("new", 2*time.Hour, refused("TokenNotForThisCluster"), func(r *fleet.ClusterRegistration) {
		r.Labels = map[string]string{"fleet.cattle.io/registration-token": "another"}
	}))
	assert.Equal(t, "edge", TokenName(f))
	f.Requests.Value = f.Requests.Value[1:]
	assert.Equal(t, "another", TokenName(f))
	assert.Equal(t, "import-token-edge-1", TokenName(managed(connected)))
	assert.Empty(t, TokenName(byAgent(placed)))
}

func TestACredentialThatIsDeadIsNotInUse(t *testing.T) {
	for reason, note := range map[string]string{ReasonRevoked: "TokenRequest, was in use, revoked", "Expired": "TokenRequest, was in use, good no longer"} {
		e := Explain(byAgent(connected, becomes(no(fleet.ClusterConditionCredentialValid, reason, "dead", time.Hour))))
		assert.Equal(t, registration.StateRefused, e.State)
		assert.Equal(t, note, e.Expiries[0].Note)
		assert.Equal(t, StepCredential, e.Steps[5].Step)
		assert.Equal(t, "the agent had it and used it; it is good no longer", e.Steps[5].Detail)
	}
}

func TestACopiedAgentWaitsForAPerson(t *testing.T) {
	f := byAgent(connected)
	f.Cluster.Annotations = map[string]string{names.CloneAnnotation: `{"why":"they take turns"}`}
	conditions.SetCondition(&f.Cluster.Status.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, registration.ReasonCloneSuspected, "two agents", now)
	e := Explain(f)
	assert.Equal(t, registration.StateClone, e.State)
	assert.Contains(t, e.WaitsFor, "they take turns")
	assert.Contains(t, e.Next, "`fleet cluster approve ")
	assert.Equal(t, Failed, e.Steps[len(e.Steps)-1].State)
}
