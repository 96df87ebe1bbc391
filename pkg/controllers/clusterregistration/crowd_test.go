package clusterregistration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func crowded(n int) change[*input] {
	return func(in *input) {
		in.ungranted = n
		in.config.Registration.MaxUngranted = 10
	}
}

func TestOfATokenOnlySoManyRequestsAreKeptThatLeadToNothing(t *testing.T) {
	conflict := toCluster(cluster(pinnedTo(otherKey, downUID)))
	revokedCluster := toCluster(cluster(func(c *fleet.Cluster) { c.Spec.Revoked = true }))
	for name, test := range map[string]struct {
		request *fleet.ClusterRegistration
		more    change[*input]
		n       int
		reason  string
	}{
		"few others":                    {request(), conflict, 9, "IdentityConflict"},
		"one too many":                  {request(), conflict, 10, "TooManyRequests"},
		"it was one too many before":    {request(refusedFor("TooManyRequests", now)), conflict, 10, "TooManyRequests"},
		"and there is room by now":      {request(refusedFor("TooManyRequests", now)), conflict, 9, "IdentityConflict"},
		"it is one of those kept":       {request(refusedFor("TokenUnknown", now)), conflict, 10, "IdentityConflict"},
		"it can be granted":             {request(), func(*input) {}, 1000, "Granted"},
		"its cluster is revoked":        {request(), revokedCluster, 10, "TooManyRequests"},
		"it waits for something":        {request(), func(in *input) { in.placed = nil }, 10, "WaitingForNamespace"},
		"a person approved it":          {request(decidedBy("approve")), conflict, 10, "IdentityConflict"},
		"it waited, and leads nowhere":  {request(refusedFor("WaitingForNamespace", now)), conflict, 10, "TooManyRequests"},
		"its token does not exist":      {request(), func(in *input) { in.token = nil }, 10, "TooManyRequests"},
		"it is malformed":               {request(func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "" }), conflict, 10, "TooManyRequests"},
		"it was granted, and is denied": {request(granted, decidedBy("deny")), conflict, 10, "Denied"},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(asked(test.request, test.more, crowded(test.n)))
			assert.Equal(t, test.reason, d.reason, d.message)
		})
	}
	d := decide(asked(request(), conflict, crowded(10)))
	assert.Equal(t, refuse, d.outcome)
	for _, part := range []string{"10 requests", "import-token-edge", "registration.maxUngranted", "1m0s", "IdentityConflict: cluster edge is bound"} {
		assert.Contains(t, d.message, part)
	}
	assert.Equal(t, d.message, decide(asked(request(), conflict, crowded(11))).message, "the same however many there are")
}

func TestWhatIsOneTooManyGoesAfterAMinute(t *testing.T) {
	in := asked(request(created(ago(time.Hour)), refusedFor("TooManyRequests", ago(10*time.Second))), toCluster(cluster(pinnedTo(otherKey, downUID))), crowded(10))
	in.now = now
	end, ends := endOf(in, decide(in))
	require.True(t, ends)
	assert.Equal(t, 50*time.Second, end.Sub(now))

	in.request = request(refusedFor("TooManyRequests", ago(time.Hour)))
	in.sameClient[0] = cluster()
	_, ends = endOf(in, decide(in))
	assert.False(t, ends, "it is about to be granted")
}

// A flood of one token, or of tokens that are made up, keeps no request of another token from being kept, and none that can
// be granted from being granted.
func TestAFloodIsBoundedForEachTokenAlone(t *testing.T) {
	h := joining(t)
	_, err := h.source.Load(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: "registration: {maxUngranted: 3}"}})
	require.NoError(t, err)
	add := func(name, token, client string) {
		h.registrations.Add(request(named(name), keyless, func(r *fleet.ClusterRegistration) {
			r.Labels[names.RegistrationTokenLabel], r.Spec.ClientID = token, client
		}))
	}
	reasons := func(prefix string, n int) (out []string) {
		for i := range n {
			name := fmt.Sprintf("%s-%d", prefix, i)
			require.NoError(t, h.look(t, name))
			h.registrations.Sync()
			out = append(out, grantedReason(h.live(name)))
		}
		return out
	}
	for i := range 5 {
		add(fmt.Sprintf("request-flood-%d", i), "import-token-edge", "nobody")
		add(fmt.Sprintf("request-made-up-%d", i), fmt.Sprintf("made-up-%d", i), "nobody")
	}
	const kept, refused, over = "TokenNotForThisCluster", "TokenUnknown", "TooManyRequests"
	assert.Equal(t, []string{kept, kept, kept, over, over}, reasons("request-flood", 5))
	assert.Equal(t, []string{refused, refused, refused, over, over}, reasons("request-made-up", 5))

	require.NoError(t, h.look(t, "request-1"))
	assert.True(t, h.live("request-1").Status.Granted)
}

// The token says that it is full once, however many requests are refused, and that it is not when there is room again.
func TestATokenSaysOnceThatNoMoreOfItsRequestsAreKept(t *testing.T) {
	h := joining(t)
	_, err := h.source.Load(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: "registration: {maxUngranted: 3}"}})
	require.NoError(t, err)
	look := func(name string) {
		t.Helper()
		require.NoError(t, h.look(t, name))
		h.registrations.Sync()
		require.NoError(t, h.look(t, name)) // its own write brings it back
		h.tokens.Sync()
	}
	told := func() (found []string) {
		for _, write := range h.tokens.Writes() {
			accepted := conditions.GetCondition(h.tokens.Live(workspace, "import-token-edge").Status.Conditions, fleet.TokenConditionRequestsAccepted)
			found = append(found, write+" "+string(accepted.Status)+" "+accepted.Reason)
		}
		return found
	}
	for i := range 8 {
		name := fmt.Sprintf("request-flood-%d", i)
		h.registrations.Add(request(named(name), keyless, func(r *fleet.ClusterRegistration) { r.Spec.ClientID = "nobody" }))
		look(name)
		if i < 2 {
			assert.Empty(t, told(), "there is room after %d", i+1)
		}
	}
	const status = "updateStatus fleet-default/import-token-edge "
	assert.Equal(t, []string{status + "False TooManyRequests"}, told())
	assert.Equal(t, "TooManyRequests", grantedReason(h.live("request-flood-7")))

	h.registrations.Remove(workspace, "request-flood-0")
	_, err = h.onChange(workspace+"/request-flood-0", nil)
	require.NoError(t, err)
	h.tokens.Sync()
	assert.Equal(t, []string{status + "True "}, told())
	look("request-flood-1")
	assert.Empty(t, told(), "it is said once")
}

func TestAFullTokenIsSoUntilATenthIsFree(t *testing.T) {
	for _, test := range []struct {
		kept, most   int
		before, want bool
	}{
		{499, 500, false, false}, {500, 500, false, true}, {500, 500, true, true}, {451, 500, true, true}, {450, 500, true, false},
		{1, 1, false, true}, {1, 1, true, true}, {0, 1, true, false}, {9, 10, true, false}, {10, 10, true, true},
	} {
		assert.Equal(t, test.want, isFull(test.kept, test.most, test.before), "%+v", test)
	}
}
