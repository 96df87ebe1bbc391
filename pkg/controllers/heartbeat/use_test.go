package heartbeat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestACredentialIsKnownByWhatTheAgentNames(t *testing.T) {
	old := granted("request-old", began, record("a", began), record("b", began))
	latest := granted("request-new", began.Add(time.Hour), record("c", began))
	e := evidence{requests: []*fleet.ClusterRegistration{latest, old}}
	for token, want := range map[string]*fleet.ClusterRegistration{"a": old, "b": old, "c": latest} {
		e.pulse = pulse{holder: holder(token), seen: began}
		u := useOf(e)
		require.Equal(t, want, u.request, token)
		assert.True(t, u.shown)
		assert.Equal(t, record(token, began).Digest, u.record.Digest)
	}

	e.pulse.holder = holder("stolen from elsewhere")
	assert.Equal(t, use{}, useOf(e), "an unknown credential is not taken for the one that was granted last")
}

// R23: the hub may end between the two writes of a renewal.
func TestARenewedCredentialThatWasNeverNotedIsFoundInItsSecret(t *testing.T) {
	r := granted("request-1", began, record("a", began))
	secret := renewedSecret(newCluster(), r, "b", record("b", began))
	e := evidence{requests: []*fleet.ClusterRegistration{r}, renewed: secret, pulse: pulse{holder: holder("b")}}

	u := useOf(e)
	require.Equal(t, r, u.request)
	assert.True(t, u.shown)
	assert.Equal(t, record("b", began).Digest, u.record.Digest)

	e.renewed = renewedSecret(newCluster(), granted("request-2", began), "b", record("b", began))
	assert.Equal(t, use{}, useOf(e), "it is another request's")
	e.renewed = &corev1.Secret{}
	assert.Equal(t, use{}, useOf(e))
}

// An agent of the reference has no Lease and names no credential. What was granted a moment ago is not in use because
// the agent was seen before that: the credential would be taken away before it was fetched.
func TestACredentialThatIsNotNamedIsInUseOnlyIfTheAgentWasSeenSince(t *testing.T) {
	keyless := func(r *fleet.ClusterRegistration) *fleet.ClusterRegistration {
		r.Spec.Identity = nil
		return r
	}
	used := record("a", began)
	used.Used = true
	first := keyless(granted("request-1", began, used))
	second := keyless(granted("request-2", began.Add(time.Hour), record("b", began.Add(time.Hour))))
	withKey := granted("request-2", began.Add(time.Hour), record("b", began.Add(time.Hour)))
	refused := keyless(granted("request-2", began.Add(time.Hour), record("b", began.Add(time.Hour))))
	refused.Status.Granted = false
	before, after := began.Add(50*time.Minute), began.Add(70*time.Minute)
	for name, test := range map[string]struct {
		requests []*fleet.ClusterRegistration
		seen     time.Time
		want     string
		pending  bool
	}{
		"seen since":                  {[]*fleet.ClusterRegistration{first, second}, after, "request-2", false},
		"not seen since":              {[]*fleet.ClusterRegistration{first, second}, before, "request-1", true},
		"not seen since, nothing old": {[]*fleet.ClusterRegistration{second}, before, "", true},
		"not seen by this hub":        {[]*fleet.ClusterRegistration{first, second}, time.Time{}, "request-1", true},
		"the newer agent has a key":   {[]*fleet.ClusterRegistration{first, withKey}, after, "request-1", false},
		"only an agent with a key":    {[]*fleet.ClusterRegistration{withKey}, after, "", false},
		"the newer was not granted":   {[]*fleet.ClusterRegistration{first, refused}, after, "request-1", false},
		"no request":                  {nil, after, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			u := useOf(evidence{requests: test.requests, pulse: pulse{seen: test.seen}, legacy: true})
			assert.False(t, u.shown)
			assert.Equal(t, test.pending, u.pending)
			if test.want == "" {
				assert.Nil(t, u.request)
				return
			}
			require.NotNil(t, u.request)
			assert.Equal(t, test.want, u.request.Name)
		})
	}
}

func TestTheGrantOfAnEarlierHubIsKnownToWorkWithoutARecord(t *testing.T) {
	earlier := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "request-x7k2p"},
		Status:     fleet.ClusterRegistrationStatus{ClusterName: edge, Granted: true},
	}
	ours := granted("request-1", began)
	for _, p := range []pulse{{seen: began}, {seen: began, holder: holder("its token")}} {
		u := useOf(evidence{requests: []*fleet.ClusterRegistration{ours, earlier}, pulse: p})
		assert.Equal(t, earlier, u.request)
		assert.Nil(t, u.record)
		assert.Equal(t, use{}, useOf(evidence{requests: []*fleet.ClusterRegistration{ours}, pulse: p}))
	}
}

func TestTheOwnerIsNamedAsTheGrantNamesIt(t *testing.T) {
	owner, ok := names.ParseOwnerRef(ownerOf(granted("request-1", began)))
	require.True(t, ok)
	assert.Equal(t, names.OwnerRef{Kind: "ClusterRegistration", Namespace: workspace, Name: "request-1", UID: "uid-of-request-1"}, owner)
}
