package verbs

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain"
)

const (
	cluster  = "edge-1"
	clientID = "client-of-edge-1"
)

// A person makes a token, a cluster joins, another claims to be it, and the person decides. Each step is one command, and
// the commands that explain names are the ones that help.
func TestAPersonBringsAClusterInAndDecidesWhoItIs(t *testing.T) {
	b := newBed(t)
	values := tokenAndValues(t, b)
	b.joins(t, "agent-one", clientID, values)
	first := connected(t, b)
	seenByPrograms(t, b, first)
	seenByAnOnlooker(t, b)

	b.joins(t, "agent-two", clientID, values)
	claim := claimed(t, b)
	deniedAndOverruled(t, b, claim)
	second := connectedBy(t, b, "agent-two-pod")
	assert.Equal(t, claim.KeyFingerprint, second.Identity.PinnedKey, "the Cluster is bound to the key that was approved")
	assert.NotEqual(t, first.Identity.PinnedKey, second.Identity.PinnedKey)

	redeployed(t, b)
	tokenEnds(t, b)
}

func tokenAndValues(t *testing.T, b *bed) (values string) {
	t.Helper()
	got := b.fleet(t, "token", "values", "edge")
	assert.Equal(t, 1, got.code)
	assert.Empty(t, got.out, "nothing for a file where there is nothing")
	assert.Contains(t, got.errOut, "there is no ClusterRegistrationToken edge")

	// The context's namespace is no workspace before something of the hub is in it.
	made := b.succeeds(t, "token", "create", "edge", "-n", workspace, "--ttl", "1h", "--cluster-name", cluster, "--wait")
	assert.Contains(t, made, "Made token verbs/edge for cluster edge-1; it ends 20")
	explained := b.succeeds(t, "cluster", "explain", cluster)
	assert.Contains(t, explained, "verbs/edge-1 has no Cluster yet: Requested")
	values = b.succeeds(t, "token", "values", "edge")
	assert.Contains(t, values, "tokenName: edge")
	return values
}

func explained(t *testing.T, b *bed) explain.Explanation {
	t.Helper()
	return read[explain.Explanation](t, b, "cluster", "explain", cluster)
}

func connected(t *testing.T, b *bed) explain.Explanation {
	t.Helper()
	return connectedBy(t, b, "agent-one-pod")
}

// connectedBy waits until the heartbeats of a pod make the cluster connected, with all steps done.
func connectedBy(t *testing.T, b *bed, pod string) (e explain.Explanation) {
	t.Helper()
	await(t, "the cluster to be connected by "+pod, func() (bool, string) {
		e = explained(t, b)
		undone := slices.IndexFunc(e.Steps, func(s explain.Step) bool { return s.State != explain.Done })
		if e.State != "Connected" || undone >= 0 || e.Identity == nil || e.Identity.Instance != pod {
			return false, e.State + ": " + e.Next
		}
		return true, ""
	})
	require.NotEmpty(t, e.Expiries)
	assert.NotNil(t, e.Expiries[0].Expires, "the agent's credential ends")
	assert.True(t, slices.ContainsFunc(e.Expiries, func(x explain.Expiry) bool { return x.What == "hub's CA" && x.Fingerprint != "" }), "%v", e.Expiries)
	assert.Equal(t, e.Identity.PinnedKey, e.Identity.Key)
	for _, s := range e.Steps {
		assert.True(t, s.Since != nil || s.Step == explain.StepToken, s.Step)
	}
	return e
}

func seenByPrograms(t *testing.T, b *bed, e explain.Explanation) {
	t.Helper()
	type list[T any] struct{ Items []T }
	requests := read[list[explain.Request]](t, b, "registration", "list", "-n", workspace)
	require.Len(t, requests.Items, 1)
	assert.True(t, requests.Items[0].Granted)
	assert.Equal(t, cluster, requests.Items[0].Cluster)
	clusters := read[list[map[string]any]](t, b, "cluster", "list")
	require.Len(t, clusters.Items, 1)
	assert.Equal(t, e.State, clusters.Items[0]["state"])
	tokens := read[list[map[string]any]](t, b, "token", "list", "-A")
	require.Len(t, tokens.Items, 1)
	assert.Equal(t, "Ready", tokens.Items[0]["state"])
	assert.Equal(t, cluster+"\n", b.succeeds(t, "__complete", "--", "cluster", "explain", ""))

	got := b.fleet(t, "registration", "approve", requests.Items[0].Name)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.errOut, "granted already, for cluster edge-1")
}

// seenByAnOnlooker is somebody whom the hub's authorizer lets see the Cluster and nothing else.
func seenByAnOnlooker(t *testing.T, b *bed) {
	t.Helper()
	kubeconfig := b.onlooker(t)
	var e explain.Explanation
	await(t, "the onlooker's rights", func() (bool, string) { // the authorizer learns of them by a watch
		got := b.fleetAs(t, kubeconfig, "cluster", "explain", cluster, "-n", workspace, "-o", "json")
		return got.code == 0 && json.Unmarshal([]byte(got.out), &e) == nil, got.errOut
	})
	assert.Equal(t, "Connected", e.State)
	assert.Len(t, e.Unknown, 4, "requests, heartbeat, the hub's CA, events: %v", e.Unknown)
	got := b.fleetAs(t, kubeconfig, "token", "create", "mine", "-n", workspace)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.errOut, "making ClusterRegistrationToken verbs/mine")
}

// claimed waits until somebody else claims the cluster, whose agent is not touched.
func claimed(t *testing.T, b *bed) (claim explain.Request) {
	t.Helper()
	await(t, "a second identity to be refused", func() (bool, string) {
		e := explained(t, b)
		if len(e.Requests) == 0 || e.Requests[0].Reason != explain.ReasonIdentityConflict {
			return false, e.Next
		}
		claim = e.Requests[0]
		assert.Equal(t, "Connected", e.State)
		assert.Equal(t, "agent-one-pod", e.Identity.Instance)
		return true, ""
	})
	require.Len(t, claim.Commands, 2)
	assert.Contains(t, b.succeeds(t, "cluster", "explain", cluster), "$ "+claim.Commands[0])
	pending := b.fleet(t, "registration", "list", "--pending")
	assert.Contains(t, pending.out, claim.Name)
	assert.Contains(t, pending.errOut, "Waiting for a person's decision: 1.")
	return claim
}

// deniedAndOverruled decides by the very commands that explain names.
func deniedAndOverruled(t *testing.T, b *bed, claim explain.Request) {
	t.Helper()
	got := b.fleet(t, "registration", "approve", claim.Name)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.errOut, "add --replace")

	out := b.fleetCommand(t, claim.Commands[1], "--reason", "nobody knows it")
	assert.Contains(t, out, claim.KeyFingerprint)
	assert.Contains(t, out, "Denied by ")
	await(t, "the hub to know of the denial", func() (bool, string) {
		e := explained(t, b)
		return len(e.Requests) == 1 && e.Requests[0].Reason == explain.ReasonDenied, e.Next
	})
	got = b.fleet(t, "registration", "deny", claim.Name)
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.errOut, "denied by ")

	out = b.fleetCommand(t, claim.Commands[0], "--reason", "it was jane's")
	assert.Contains(t, out, "the old agent loses its access")
	r, err := stage.Get[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, workspace, claim.Name)
	require.NoError(t, err)
	require.NotNil(t, r)
	require.NotNil(t, r.Status.Approval)
	assert.Equal(t, "replace", r.Status.Approval.Decision)
	assert.Equal(t, "it was jane's", r.Status.Approval.Reason)
	review, err := b.Hub.Kube.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), selfSubjectReview(), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, review.Status.UserInfo.Username, r.Status.Approval.By)
}

// fleetCommand runs a command as explain prints it.
func (b *bed) fleetCommand(t *testing.T, command string, more ...string) string {
	t.Helper()
	words := strings.Fields(command)
	require.Equal(t, "fleet", words[0])
	return b.succeeds(t, append(words[1:], more...)...)
}

func redeployed(t *testing.T, b *bed) {
	t.Helper()
	assert.Contains(t, b.succeeds(t, "cluster", "redeploy", cluster), "verbs/edge-1 (generation 1): ")
	assert.Contains(t, b.succeeds(t, "cluster", "redeploy", "--all", "-n", workspace), "verbs/edge-1 (generation 2): ")
	c, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, workspace, cluster)
	require.NoError(t, err)
	require.NotNil(t, c)
	assert.Equal(t, int64(2), c.Spec.RedeployAgentGeneration)
}

func tokenEnds(t *testing.T, b *bed) {
	t.Helper()
	assert.Contains(t, b.succeeds(t, "token", "delete", "edge"), "Deleted token verbs/edge.")
	e := connectedBy(t, b, "agent-two-pod")
	assert.Contains(t, e.Steps[1].Detail, "has ended; nobody needs it any more")
}
