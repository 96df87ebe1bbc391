package clusterregistrationtoken

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const withURL = `{"apiServerURL": "https://hub.example.com"}`

func readyOf(t *testing.T, token *fleet.ClusterRegistrationToken) (metav1.ConditionStatus, string) {
	t.Helper()
	require.NotNil(t, token)
	c := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionReady)
	require.NotNil(t, c)
	return metav1.ConditionStatus(c.Status), c.Reason
}

// R06: the Secret is there after one pass, and the status says so.
func TestTokenIsReadyAfterOnePass(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", 12*time.Hour))
	require.NoError(t, w.pass("t"))

	assert.Equal(t, []string{
		"updateStatus fleet-default/t",
		"create " + hub.Registration + "/t-t-uid",
		"create fleet-default/t",
	}, w.writes())
	assert.Equal(t, 1, w.minted)
	live := w.liveToken("t")
	assert.Equal(t, "t", live.Status.SecretName)
	assert.Equal(t, start.Add(12*time.Hour), live.Status.Expires.UTC())
	status, _ := readyOf(t, live)
	assert.Equal(t, metav1.ConditionTrue, status)

	secret := w.secretOf("t")
	assert.Equal(t, corev1.SecretType(names.ValuesSecretType), secret.Type)
	assert.Equal(t, live.UID, secret.OwnerReferences[0].UID)
	claims, err := registration.ParseClaims(valuesOf(t, secret).Token)
	require.NoError(t, err)
	assert.Equal(t, start.Add(12*time.Hour), claims.Expires)
}

// R07: one timer a token, at its end, and nothing is written or minted when nothing changed.
func TestManyTokensAreQuiet(t *testing.T) {
	w := newWorld(t, withURL)
	for i := range 100 {
		w.tokens.Add(token(fmt.Sprintf("t%d", i), 12*time.Hour))
	}
	for i := range 100 {
		require.NoError(t, w.pass(fmt.Sprintf("t%d", i)))
	}
	assert.Len(t, w.writes(), 300)
	for pass := range 3 {
		w.clock.SetTime(start.Add(time.Duration(pass+1) * time.Hour))
		for i := range 100 {
			name := fmt.Sprintf("t%d", i)
			require.NoError(t, w.pass(name))
			after, ok := w.tokens.After("fleet-default", name)
			require.True(t, ok)
			assert.Equal(t, time.Duration(12-pass-1)*time.Hour, after)
		}
		assert.Empty(t, w.writes())
	}
	assert.Equal(t, 100, w.minted)
}

// The cache may be behind what this very controller wrote a moment ago.
func TestNothingIsMintedTwiceForACacheThatLags(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour))
	w.secrets.Lag, w.accounts.Lag = true, true
	require.NoError(t, w.pass("t"))
	w.writes()
	require.NoError(t, w.pass("t"))
	assert.Equal(t, 1, w.minted)
	assert.Empty(t, w.writes())
}

func TestEndlessTokenNeedsTwoPasses(t *testing.T) {
	w := newWorld(t, withURL)
	w.accounts.Lag = true
	w.tokens.Add(token("t", 0))
	require.NoError(t, w.pass("t"))
	status, reason := readyOf(t, w.liveToken("t"))
	assert.Equal(t, metav1.ConditionFalse, status)
	assert.Equal(t, reasonToken, reason)
	_, timer := w.tokens.After("fleet-default", "t")
	assert.False(t, timer, "it waits for an event")

	endless := w.secrets.Live(hub.Registration, "t-t-uid-token")
	keys, err := w.tokensOfFilled(endless.Namespace, endless.Name, endless)
	require.NoError(t, err)
	assert.Empty(t, keys, "that it exists is nothing new")
	endless.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("filled")}
	w.secrets.Add(endless)
	keys, err = w.tokensOfFilled(endless.Namespace, endless.Name, endless)
	require.NoError(t, err)
	assert.Len(t, keys, 1)
	w.accounts.Sync()
	require.NoError(t, w.pass("t"))
	assert.Equal(t, "filled", valuesOf(t, w.secretOf("t")).Token)
	assert.Zero(t, w.minted)
	w.writes()
	require.NoError(t, w.pass("t"))
	assert.Empty(t, w.writes())
}

func TestShortTTLHasATokenOfTenMinutesAndEndsInTime(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", 5*time.Second))
	require.NoError(t, w.pass("t"))
	claims, err := registration.ParseClaims(valuesOf(t, w.secretOf("t")).Token)
	require.NoError(t, err)
	assert.Equal(t, w.clock.Now().Add(10*time.Minute).Unix(), claims.Expires.Unix())
	after, _ := w.tokens.After("fleet-default", "t")
	assert.Equal(t, 4*time.Second, after)

	w.writes()
	w.clock.SetTime(start.Add(5 * time.Second))
	require.NoError(t, w.pass("t"))
	assert.Equal(t, []string{"ClusterRegistrationToken fleet-default/t"}, w.set.removed, "account and permissions first")
	assert.Nil(t, w.liveToken("t"))
	assert.Zero(t, w.accounts.Len())
}

func TestTokenThatWasMadeAnewIsNotDeletedForTheOldOne(t *testing.T) {
	w := newWorld(t, withURL)
	old := token("t", time.Second)
	old.UID = "old"
	w.tokens.Add(token("t", time.Hour))
	w.clock.SetTime(start.Add(time.Minute))
	_, err := w.onChange("fleet-default/t", old)
	require.NoError(t, err)
	assert.NotNil(t, w.liveToken("t"))
}

func TestAccountDeletedByHandLeadsToANewToken(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour))
	require.NoError(t, w.pass("t"))
	before := valuesOf(t, w.secretOf("t")).Token
	w.accounts.Remove(hub.Registration, "t-t-uid")
	require.NoError(t, w.pass("t"), "the account is made anew")
	require.NoError(t, w.pass("t"), "its event")
	after := valuesOf(t, w.secretOf("t")).Token
	assert.NotEqual(t, before, after)
	claims, err := registration.ParseClaims(after)
	require.NoError(t, err)
	assert.Equal(t, string(w.accounts.Live(hub.Registration, "t-t-uid").UID), claims.AccountUID)
	assert.Equal(t, 2, w.minted)
}

func TestConfigurationChangeRewritesTheSecret(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("a", time.Hour), token("b", time.Hour))
	require.NoError(t, w.pass("a"))
	require.NoError(t, w.pass("b"))
	before := valuesOf(t, w.secretOf("a"))

	w.configure(t, `{"apiServerURL": "https://moved.example.com"}`)
	require.NoError(t, w.onConfig(t.Context(), w.Config.Get()))
	for _, name := range []string{"a", "b"} {
		after, ok := w.tokens.After("fleet-default", name)
		assert.True(t, ok)
		assert.Zero(t, after, "at once")
		require.NoError(t, w.pass(name))
		assert.Equal(t, "https://moved.example.com", valuesOf(t, w.secretOf(name)).APIServerURL)
	}
	assert.Equal(t, before.Token, valuesOf(t, w.secretOf("a")).Token)
	assert.Equal(t, 2, w.minted)
}

func TestServerThatGrantsLessIsRenewedInTime(t *testing.T) {
	w := newWorld(t, withURL)
	w.limit = 24 * time.Hour
	w.tokens.Add(token("t", 72*time.Hour))
	require.NoError(t, w.pass("t"))
	for range 3 {
		require.NoError(t, w.pass("t"))
	}
	assert.Equal(t, 1, w.minted, "asking again does not help")
	after, _ := w.tokens.After("fleet-default", "t")
	w.clock.SetTime(w.clock.Now().Add(after))
	require.NoError(t, w.pass("t"))
	assert.Equal(t, 2, w.minted)
}

func TestFailureIsInTheStatusAndTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		fault  func(*world, error)
		reason string
	}{
		"set":   {func(w *world, err error) { w.set.err = err }, reasonAccount},
		"token": {func(w *world, err error) { w.fail = err }, reasonRequest},
		"secret": {func(w *world, err error) {
			w.secrets.Fail = func(verb, _ string) error {
				if verb == "create" {
					return err
				}
				return nil
			}
		}, reasonWrite},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withURL)
			w.tokens.Add(token("t", time.Hour))
			fault := errors.New("the server is on fire")
			test.fault(w, fault)
			require.ErrorIs(t, w.pass("t"), fault)
			status, reason := readyOf(t, w.liveToken("t"))
			assert.Equal(t, metav1.ConditionFalse, status)
			assert.Equal(t, test.reason, reason)
			assert.Empty(t, w.liveToken("t").Status.SecretName)

			w.set.err, w.fail, w.secrets.Fail = nil, nil, nil
			require.NoError(t, w.pass("t"))
			status, _ = readyOf(t, w.liveToken("t"))
			assert.Equal(t, metav1.ConditionTrue, status)
		})
	}
}

func TestAnotherWriterIsNoFailureToShow(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour))
	w.secrets.Fail = func(verb, key string) error {
		if verb == "create" {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, key)
		}
		return nil
	}
	require.Error(t, w.pass("t"), "it is tried again")
	assert.Empty(t, w.liveToken("t").Status.Conditions)
}

func TestTokensWithoutAnEndAreRefusedWhereOneIsRequired(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "clusterregistrationtokens"}, "t")
	for name, test := range map[string]struct {
		ttl      *metav1.Duration
		required bool
		fault    error
		deleted  bool
		fails    bool
	}{
		"none, required":              {required: true, deleted: true},
		"zero, required":              {ttl: &metav1.Duration{}, required: true, deleted: true},
		"none, required, gone before": {required: true, fault: notFound},
		"none, required, not deleted": {required: true, fault: errors.New("no"), fails: true},
		"some, required":              {ttl: &metav1.Duration{Duration: time.Hour}, required: true},
		"none, not required":          {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withURL)
			w.TTLRequired = test.required
			obj := token("t", 0)
			obj.Spec.TTL = test.ttl
			w.tokens.Add(obj)
			w.tokens.Fail = func(verb, _ string) error {
				if verb == "delete" {
					return test.fault
				}
				return nil
			}
			err := w.pass("t")
			assert.Equal(t, test.fails, err != nil, "%v", err)
			assert.Equal(t, test.deleted, w.liveToken("t") == nil)
			if test.deleted {
				assert.Contains(t, w.event(t), "controller.registrationTokenTTL.required")
			}
		})
	}
}

func TestTokenHeldByAFinalizerLetsNobodyIn(t *testing.T) {
	w := newWorld(t, withURL)
	obj := token("t", time.Hour)
	obj.Finalizers = []string{"example.com/hold"}
	w.tokens.Add(obj)
	require.NoError(t, w.pass("t"))
	held := w.liveToken("t")
	now := metav1.NewTime(start.Add(time.Minute))
	held.DeletionTimestamp = &now
	w.tokens.Add(held)

	require.NoError(t, w.pass("t"))
	assert.Zero(t, w.accounts.Len())
	status, reason := readyOf(t, w.liveToken("t"))
	assert.Equal(t, metav1.ConditionFalse, status)
	assert.Equal(t, reasonLeaving, reason)
	assert.Contains(t, conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionReady).Message, "example.com/hold")
	w.writes()
	require.NoError(t, w.pass("t"))
	assert.Empty(t, w.writes())
}

func TestDeletedTokenIsForgottenOnlyOnProof(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour))
	require.NoError(t, w.pass("t"))

	_, err := w.onChange("fleet-default/t", nil) // the cache lost it, the API server did not
	require.NoError(t, err)
	assert.Empty(t, w.set.removed)

	w.tokens.Fail = func(string, string) error { return errors.New("timeout") }
	_, err = w.onChange("fleet-default/t", nil)
	require.Error(t, err)
	assert.Empty(t, w.set.removed)

	w.tokens.Fail = nil
	w.tokens.Remove("fleet-default", "t")
	_, err = w.onChange("fleet-default/t", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"ClusterRegistrationToken fleet-default/t"}, w.set.removed)
}

// An import makes its token anew under the same name, and must not wait for the garbage collector.
func TestSecretOfAnEarlierTokenIsReplacedAtOnce(t *testing.T) {
	w := newWorld(t, withURL)
	earlier := token("t", time.Hour)
	earlier.UID = "earlier"
	w.tokens.Add(earlier)
	require.NoError(t, w.pass("t"))
	before := w.secretOf("t")
	w.tokens.Remove("fleet-default", "t")
	w.tokens.Add(token("t", time.Hour))

	stale := earlier.DeepCopy()
	_, err := w.onChange("fleet-default/t", stale)
	require.NoError(t, err)
	assert.Equal(t, before.UID, w.secretOf("t").UID)

	require.NoError(t, w.pass("t"))
	after := w.secretOf("t")
	assert.NotEqual(t, before.UID, after.UID)
	assert.EqualValues(t, "t-uid", after.OwnerReferences[0].UID)
	assert.NotEqual(t, valuesOf(t, before).Token, valuesOf(t, after).Token)
	w.writes()
	require.NoError(t, w.pass("t"))
	assert.Empty(t, w.writes())

	w.set.applied = nil
	_, err = w.onChange("fleet-default/t", stale)
	assert.Nil(t, w.set.applied)
	require.ErrorContains(t, err, "made anew", "a cache that is behind must not undo it")
	assert.Equal(t, after.UID, w.secretOf("t").UID)
}

func TestStatusOfOthersIsLeftAlone(t *testing.T) {
	w := newWorld(t, withURL)
	obj := token("t", time.Hour)
	obj.Status.Uses = 3
	conditions.SetCondition(&obj.Status.Conditions, fleet.TokenConditionProvenanceEnforced, "False", "NoPolicy", "", start)
	w.tokens.Add(obj)
	require.NoError(t, w.pass("t"))
	live := w.liveToken("t")
	assert.EqualValues(t, 3, live.Status.Uses)
	assert.NotNil(t, conditions.GetCondition(live.Status.Conditions, fleet.TokenConditionProvenanceEnforced))
}

// What the hub knows of the origin of requests is said in the same write as all else, and while nothing is known what was
// said before stands.
func TestATokenSaysWhetherTheOriginOfRequestsIsChecked(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour))
	said := func() *genericcondition.GenericCondition {
		w.tokens.Sync()
		w.accounts.Sync()
		w.secrets.Sync()
		w.writes()
		require.NoError(t, w.pass("t"))
		return conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionProvenanceEnforced)
	}
	assert.Nil(t, said())
	w.proof.Provenance = registration.Provenance{Reason: registration.ProvenanceNotServed, Message: "update it"}
	c := said()
	require.NotNil(t, c)
	assert.Equal(t, []string{"False", "NotServed", "update it"}, []string{string(c.Status), c.Reason, c.Message})
	assert.Len(t, w.tokens.Writes(), 1)
	w.proof.Provenance = registration.Provenance{Reason: registration.ProvenanceInForce}
	assert.Equal(t, "True", string(said().Status))
	w.proof.Provenance = registration.Provenance{}
	assert.Equal(t, "True", string(said().Status))
	assert.Empty(t, w.tokens.Writes(), "nothing is known, nothing is written")
}

// Whatever belongs to a token brings the token back, even when it is deleted or has lost its labels.
func TestPartsLeadToTheirToken(t *testing.T) {
	w := newWorld(t, withURL)
	w.tokens.Add(token("t", time.Hour), token("other", time.Hour))
	account := names.Account("t", "t-uid")
	for _, part := range [][2]string{
		{hub.Registration, account},
		{hub.Registration, names.AccountToken(account)},
		{"fleet-default", names.ImportRole(account)},
		{"fleet-default", names.ImportRoleBinding(account)},
		{"fleet-default", "t"},
	} {
		keys, err := w.tokensOf(part[0], part[1], nil)
		require.NoError(t, err)
		assert.Equal(t, []relatedresource.Key{{Namespace: "fleet-default", Name: "t"}}, keys, part)
	}
	keys, err := w.tokensOf("fleet-default", "else", nil)
	require.NoError(t, err)
	assert.Empty(t, keys)
}
