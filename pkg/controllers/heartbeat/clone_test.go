package heartbeat

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func of(instance, token string) string {
	return registration.Holder{Instance: instance, Digest: registration.Digest(token)}.String()
}

// turnsOf are turns of holders, each a minute after the one before.
func turnsOf(holders ...string) (turns []turn) {
	for i, holder := range holders {
		turns, _ = takeTurn(turns, holder, began.Add(time.Duration(i)*time.Minute))
	}
	return turns
}

func TestTurnsAreNotedInBoundedMemory(t *testing.T) {
	first := turnsOf("a", "a", "b")
	require.Len(t, first, 2, "who goes on takes no turn")
	second, back := takeTurn(first, "a", began)
	assert.True(t, back)
	_, back = takeTurn(first, "c", began)
	assert.False(t, back)
	assert.Equal(t, []string{"a", "b"}, []string{first[0].holder, first[1].holder}, "a list that was handed out stays as it is")
	for i := range 1000 {
		second, _ = takeTurn(second, fmt.Sprint(i), began)
	}
	assert.Len(t, second, maxTurns)
	same, _ := takeTurn(second, "", began)
	assert.Equal(t, second, same, "a Lease that nobody holds is nobody's turn")
}

func TestWhatLooksLikeAClone(t *testing.T) {
	r := granted("request-1", began, record("old", began), record("new", began.Add(time.Hour)))
	a, b, c := of("a", "old"), of("b", "old"), of("c", "old")
	slow := turnsOf(a, b, a, b, a)
	for i := range slow {
		slow[i].at = began.Add(time.Duration(i) * 2 * grace)
	}
	cases := map[string]struct {
		turns []turn
		want  string
	}{
		"nobody":                                      {nil, ""},
		"one agent":                                   {turnsOf(a), ""},
		"it restarts":                                 {turnsOf(a, b, c), ""},
		"it restarts many times":                      {turnsOf(a, b, c, of("d", "old"), of("e", "old"), of("f", "old")), ""},
		"the first of two replicas leads again":       {turnsOf(a, b, a), ""},
		"and once more":                               {turnsOf(a, b, a, b), ""},
		"two take turns":                              {turnsOf(a, b, a, b, a), "turns"},
		"three take turns":                            {turnsOf(a, b, c, a, b, c), "turns"},
		"two replicas change at long intervals":       {slow, ""},
		"the credential is renewed":                   {turnsOf(a, of("a", "new")), ""},
		"renewed, then the agent restarts":            {turnsOf(a, of("a", "new"), of("b", "new")), ""},
		"an older credential comes back":              {turnsOf(a, of("a", "new"), a), "restore"},
		"an older credential, by another agent":       {turnsOf(of("a", "new"), b), "restore"},
		"agents with credentials of nobody":           {turnsOf("x/-/0123456789abcdef", "y/-/0123456789abcdef", "x/-/0123456789abcdef", "y/-/0123456789abcdef", "x/-/0123456789abcdef"), ""},
		"an agent of an earlier request side by side": {turnsOf(a, of("z", "of another request"), a, of("z", "of another request"), a), ""},
		"holders that are no holders":                 {turnsOf("a", "b", "a", "b", "a"), ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			why, instances := suspicion(test.turns, r, grace)
			if test.want == "" {
				assert.Empty(t, why)
				return
			}
			assert.Contains(t, why, test.want)
			assert.NotEmpty(t, instances)
		})
	}
}

// turns has agents beat one after the other, a minute apart, as the events of the API server tell it.
func (h *hub) turns(t *testing.T, holders ...string) {
	t.Helper()
	for _, holder := range holders {
		h.clock.SetTime(h.clock.Now().Add(time.Minute))
		lease := h.leases.Live(place, names.HeartbeatLease)
		lease.Spec.HolderIdentity = &holder
		lease.Spec.RenewTime = &metav1.MicroTime{Time: h.clock.Now()}
		lease, err := h.leases.Update(lease)
		require.NoError(t, err)
		h.onTurn(nil, lease)
		require.NoError(t, h.look(t))
	}
}

// beatingHub is a hub with a connected agent.
func beatingHub(t *testing.T, change ...func(*fleet.ClusterRegistration)) *hub {
	t.Helper()
	h := newHub(t)
	r := granted("request-1", began, record("a", began))
	for _, f := range change {
		f(r)
	}
	h.clusters.Add(newCluster())
	h.leases.Add(newLease())
	h.registrations.Add(r)
	h.account(r, accountOf)
	require.NoError(t, h.look(t))
	h.turns(t, of("one", "a"))
	return h
}

func (h *hub) edge() *fleet.Cluster { return h.clusters.Live(workspace, edge) }

func TestTwoAgentsWithOneCredentialAreHeldUntilAPersonApproves(t *testing.T) {
	h := beatingHub(t)
	one, two := of("one", "a"), of("two", "a")
	h.turns(t, two, one, two)
	assert.False(t, isSuspected(h.edge()), "two replicas may look like this")
	h.turns(t, one)

	clone, suspected := registration.CloneOf(h.edge().Annotations)
	require.True(t, suspected)
	assert.Equal(t, []string{"one", "two"}, clone.Instances)
	status, reason, message := statusOf(t, h.edge().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "True", string(status), "it is connected, and what heals must not begin")
	assert.Equal(t, "CloneSuspected", reason)
	assert.Contains(t, message, "fleet cluster approve edge -n fleet-default")
	assert.True(t, h.registrations.Live(workspace, "request-1").Status.Granted, "nothing is taken back")

	h.writes()
	h.turns(t, two, one, two, one)
	assert.Empty(t, h.writes(), "it is said once")

	// A hub that restarts knows nothing of before; what it has said stands.
	h.tracker = newTracker(h.clock.Now(), nil)
	h.turns(t, one, two)
	_, reason, _ = statusOf(t, h.edge().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "CloneSuspected", reason)

	c := h.edge()
	delete(c.Annotations, names.CloneAnnotation)
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	keys, err := h.leaseOfSuspect("", "", h.edge())
	require.NoError(t, err)
	assert.Len(t, keys, 1, "the approval is acted upon at once")
	require.NoError(t, h.look(t))
	_, reason, _ = statusOf(t, h.edge().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "Heartbeat", reason)
	keys, err = h.leaseOfSuspect("", "", h.edge())
	require.NoError(t, err)
	assert.Empty(t, keys)

	h.turns(t, two, one)
	assert.False(t, isSuspected(h.edge()), "what was approved is not held against them again")
	h.turns(t, two, one, two)
	assert.True(t, isSuspected(h.edge()), "but that they go on is")
}

// A hub that has just started has seen nobody before; a restarted agent after it is none who comes back.
func TestARestartOfTheHubRaisesNoAlarm(t *testing.T) {
	h := beatingHub(t)
	h.turns(t, of("two", "a"), of("one", "a"), of("two", "a"))
	h.tracker = newTracker(h.clock.Now(), nil)
	h.turns(t, of("one", "a"), of("two", "a"))
	assert.False(t, isSuspected(h.edge()))
}

// The queue shows the last of two agents that beat at the same moment.
func TestAgentsInStepAreSeenByTheirEvents(t *testing.T) {
	h := beatingHub(t)
	for range 3 {
		h.clock.SetTime(h.clock.Now().Add(time.Minute))
		for _, holder := range []string{of("two", "a"), of("one", "a")} {
			lease := h.leases.Live(place, names.HeartbeatLease)
			lease.Spec.HolderIdentity = &holder
			lease.Spec.RenewTime = &metav1.MicroTime{Time: h.clock.Now()}
			lease, err := h.leases.Update(lease)
			require.NoError(t, err)
			h.onTurn(nil, lease)
		}
		require.NoError(t, h.look(t))
	}
	assert.True(t, isSuspected(h.edge()))
}

// An agent that has registered anew has another credential than its copy, which lost its own.
func TestANewRegistrationEndsASuspicion(t *testing.T) {
	h := beatingHub(t)
	h.turns(t, of("two", "a"), of("one", "a"), of("two", "a"), of("one", "a"))
	require.True(t, isSuspected(h.edge()))
	next := granted("request-2", began.Add(time.Hour), record("b", began.Add(time.Hour)))
	h.registrations.Add(next)
	h.account(next, accountOf)
	h.turns(t, of("one", "b"))
	assert.False(t, isSuspected(h.edge()))
	_, reason, _ := statusOf(t, h.edge().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "Heartbeat", reason)
}

func TestAnAgentThatGainsAKeyIsPinnedOnUse(t *testing.T) {
	const fingerprint = "0123456789abcdef0123456789abcdef"
	withKey := registration.Holder{Instance: "one", Fingerprint: fingerprint, Digest: registration.Digest("a")}.String()
	noKey := func(r *fleet.ClusterRegistration) { r.Spec.Identity = nil }

	h := beatingHub(t, noKey)
	require.Empty(t, h.edge().Annotations)
	h.turns(t, withKey)
	pin, err := registration.PinOf(h.edge().Annotations)
	require.NoError(t, err)
	require.NotNil(t, pin)
	assert.Equal(t, registration.Pin{Fingerprint: fingerprint}, *pin)
	assert.Equal(t, fingerprint, h.edge().Status.Identity.KeyFingerprint)

	// Who takes a pin off wants the next request to bind the cluster anew.
	c := h.edge()
	delete(c.Annotations, names.IdentityAnnotation)
	_, err = h.clusters.Update(c)
	require.NoError(t, err)
	h.turns(t, of("one", "a"), withKey)
	assert.Empty(t, h.edge().Annotations[names.IdentityAnnotation])
}

func TestWhoIsNotPinnedOnUse(t *testing.T) {
	const fingerprint = "0123456789abcdef0123456789abcdef"
	keyless := granted("request-1", began, record("a", began))
	keyless.Spec.Identity = nil
	shows := func(token string) pulse {
		holder := registration.Holder{Instance: "one", Fingerprint: fingerprint, Digest: registration.Digest(token)}.String()
		return pulse{holder: holder, renewed: wire(1), seen: began, since: began}
	}
	e := beating(began, keyless, "a")
	e.pulse = shows("a")
	require.NotNil(t, judge(e).pin)
	e.cluster.Annotations = map[string]string{names.ImportAnnotation: registration.Import{ClusterUID: "uid-of-the-edge"}.Annotation()}
	assert.Equal(t, "uid-of-the-edge", judge(e).pin.ClusterUID, "the hub has looked for itself")

	for name, change := range map[string]func(*evidence){
		"a credential that the hub did not grant": func(e *evidence) { e.pulse = shows("stolen") },
		"an agent that shows no key":              func(e *evidence) { e.pulse.holder = holder("a") },
		"a cluster that is bound": func(e *evidence) {
			e.cluster.Annotations = map[string]string{names.IdentityAnnotation: `{"fingerprint":"f"}`}
		},
		"a pin that cannot be read":  func(e *evidence) { e.cluster.Annotations = map[string]string{names.IdentityAnnotation: `{`} },
		"a revoked cluster":          func(e *evidence) { e.cluster.Spec.Revoked = true },
		"an agent that was not seen": func(e *evidence) { e.pulse.seen = time.Time{} },
		"a request that brought a key": func(e *evidence) {
			e.requests = []*fleet.ClusterRegistration{granted("request-1", began, record("a", began))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := beating(began, keyless, "a")
			e.pulse = shows("a")
			change(&e)
			assert.Nil(t, judge(e).pin)
		})
	}
}
