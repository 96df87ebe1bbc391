package registration_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// impostor asks for the place of a victim.
type impostor struct {
	// token is what it holds, victim whose client ID it uses, reason why that leads nowhere.
	token, victim, reason string
	change                func(*testing.T, *applicant)
}

// impostors, by what they try. Token "anybody" is a person's, without limits.
var impostors = map[string]impostor{
	"with the import token of another cluster":           {token: "import-token-" + edge1, victim: edge2, reason: "TokenNotForThisCluster"},
	"with the import token of another cluster and a key": {token: "import-token-" + edge1, victim: edge2, reason: "TokenNotForThisCluster", change: withKey},
	"with a person's token, for an imported cluster":     {token: "anybody", victim: edge1, reason: "IdentityConflict", change: withKey},
	"with a second key":                                  {token: "anybody", victim: edge2, reason: "IdentityConflict", change: withKey},
	"with a second key and another UID of the cluster":   {token: "anybody", victim: edge2, reason: "IdentityConflict", change: withKeyOfAnotherCluster},
	"without a key": {token: "anybody", victim: edge2, reason: "IdentityConflict"},
	"with the victim's own token and a second key": {token: edge2, victim: edge2, reason: "IdentityConflict", change: withKey},
}

// Attack 4 and its kind: who knows a cluster's client ID and has some registration token does not become that cluster,
// and does not disturb it.
func TestAnotherClustersClientIDLeadsNowhere(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	w.newToken(t, "anybody", fleet.ClusterRegistrationTokenSpec{})
	victims := map[string]victim{edge1: w.victim(t, edge1), edge2: w.victim(t, edge2)}
	for what, i := range impostors {
		t.Run(what, func(t *testing.T) {
			a := w.applicant(t, i.token, w.tokenOf(t, i.token), victims[i.victim].cluster.Spec.ClientID)
			if i.change != nil {
				i.change(t, a)
			}
			a.ask(t)
			t.Cleanup(func() { w.remove(t, stage.Registrations.Resource, a.workspace, a.request.Name) })
			r := a.refused(t, i.reason)
			require.False(t, r.Status.Granted)
			require.Empty(t, r.Status.Credentials)
			a.getsNothing(t)
		})
	}
	for _, v := range victims {
		v.isUntouched(t)
	}
}

// Somebody with a token who names another's as the origin of the request is turned away, and so is who names another
// sender: both would be needed to be taken for the agent that the hub itself put there.
func TestARequestThatNamesAnothersTokenIsRefused(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	jwt := w.newToken(t, "somebody", fleet.ClusterRegistrationTokenSpec{})
	victim := w.victim(t, edge1)
	for what, test := range map[string]struct{ token, requester, words string }{
		"the token":  {"import-token-" + edge1, "somebody", "names token import-token-" + edge1},
		"the sender": {"somebody", "import-token-" + edge1, "spec.identity.requester"},
		"both":       {"import-token-" + edge1, "import-token-" + edge1, "names token import-token-" + edge1},
	} {
		t.Run(what, func(t *testing.T) {
			a := w.applicant(t, test.token, jwt, victim.cluster.Spec.ClientID)
			withRequester(t, a, w.accountOf(t, test.requester))
			a.turnedAway(t, test.words)
		})
	}
	victim.isUntouched(t)
}

// An import token is for one cluster that is there; it makes no other.
func TestAnImportTokenMakesNoCluster(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	a := w.applicant(t, "import-token-"+edge1, w.tokenOf(t, names.ImportToken(edge1)), "a-client-that-nobody-has")
	withKey(t, a)
	a.ask(t)
	t.Cleanup(func() { w.remove(t, stage.Registrations.Resource, a.workspace, a.request.Name) })
	a.refused(t, "TokenNotForThisCluster")
	a.getsNothing(t)
	clusters, err := stage.List[fleet.Cluster](t.Context(), w.Hub, stage.Clusters, stage.Workspace)
	require.NoError(t, err)
	require.Len(t, clusters, 2)
}

func withKey(t *testing.T, a *applicant) {
	t.Helper()
	key, err := registration.NewIdentity()
	require.NoError(t, err)
	a.request.Spec.Identity = &fleet.RegistrationIdentity{PublicKey: key.PublicKey(), ClusterUID: a.request.Spec.ClientID}
}

// withKeyOfAnotherCluster brings the same new key under another UID of the cluster.
func withKeyOfAnotherCluster(t *testing.T, a *applicant) {
	t.Helper()
	withKey(t, a)
	a.request.Spec.Identity.ClusterUID = "11111111-2222-3333-4444-555555555555"
}

// withRequester brings a key, and the name of an account as its own.
func withRequester(t *testing.T, a *applicant, account string) {
	t.Helper()
	withKey(t, a)
	a.request.Spec.Identity.Requester = names.AccountUser(stage.RegistrationNamespace, account)
}

// tokenOf is the JWT of a registration token.
func (w *world) tokenOf(t *testing.T, name string) string {
	t.Helper()
	values, err := w.TokenValues(until(t, patience), stage.Workspace, name)
	require.NoError(t, err)
	return values["token"].(string)
}

// accountOf is the name of a registration token's import account.
func (w *world) accountOf(t *testing.T, tokenName string) string {
	t.Helper()
	token, err := stage.Get[fleet.ClusterRegistrationToken](t.Context(), w.Hub, stage.Tokens, stage.Workspace, tokenName)
	require.NoError(t, err)
	require.NotNil(t, token)
	return names.Account(tokenName, string(token.UID))
}

// getsNothing looks for what a grant would bring.
func (a *applicant) getsNothing(t *testing.T) {
	t.Helper()
	name := names.CredentialSecret(a.request.Spec.ClientID, a.request.Spec.ClientRandom)
	_, err := a.hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(t.Context(), name, metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	request, err := stage.Get[fleet.ClusterRegistration](t.Context(), theWorld.Hub, stage.Registrations, a.workspace, a.request.Name)
	require.NoError(t, err)
	require.NotNil(t, request)
	account := names.Account(request.Name, string(request.UID))
	granted := []string{name, account}
	all := snapshot(t, theWorld.Hub)
	for key := range all {
		if slices.Contains(granted, key.Name) || key.Name == a.request.Name && key.Kind != "ClusterRegistration" {
			t.Errorf("there is %s of a request that was refused", key)
		}
	}
}

// victim is a cluster that somebody else pretends to be, as it was before.
type victim struct {
	w       *world
	cluster *fleet.Cluster
	held    held
}

func (w *world) victim(t *testing.T, name string) victim {
	t.Helper()
	_, workspace, _ := w.cluster(name)
	return victim{w: w, cluster: w.connected(t, workspace, name), held: w.heldBy(t, name)}
}

// isUntouched waits for a heartbeat after the attack and compares everything that the hub holds of the victim.
func (v victim) isUntouched(t *testing.T) {
	t.Helper()
	v.awaitBeat(t)
	now := v.w.connected(t, v.cluster.Namespace, v.cluster.Name)
	require.Equal(t, v.cluster.UID, now.UID)
	require.Equal(t, v.cluster.Spec, now.Spec)
	require.Equal(t, v.cluster.Labels, now.Labels)
	require.Equal(t, v.cluster.Annotations, now.Annotations)
	require.Equal(t, v.cluster.Status.Identity, now.Status.Identity)
	require.Equal(t, v.cluster.Status.Credential, now.Status.Credential)
	for _, kind := range []string{fleet.ClusterConditionAgentConnected, fleet.ClusterConditionRegistered, fleet.ClusterConditionCredentialValid} {
		was, is := stage.Condition(v.cluster.Status.Conditions, kind), stage.Condition(now.Status.Conditions, kind)
		require.NotNil(t, is, kind)
		require.Equal(t, corev1.ConditionTrue, is.Status, kind)
		require.Equal(t, was, is, "condition %s never changed", kind)
	}
	require.Equal(t, v.held, v.w.heldBy(t, v.cluster.Name))
}

// awaitBeat waits for a heartbeat that was made after the call.
func (v victim) awaitBeat(t *testing.T) {
	t.Helper()
	since := time.Now()
	await(t, "a heartbeat of the victim", func(ctx context.Context) (bool, string, error) {
		lease, err := v.w.Hub.Kube.CoordinationV1().Leases(v.cluster.Status.Namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil || lease.Spec.RenewTime == nil {
			return false, "no renewal", err
		}
		return lease.Spec.RenewTime.After(since), "renewed at " + lease.Spec.RenewTime.String(), nil
	})
}
