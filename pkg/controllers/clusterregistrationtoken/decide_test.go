package clusterregistrationtoken

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const serverURL = "https://hub.example.com"

func inputFor(token *fleet.ClusterRegistrationToken) input {
	return input{token: token, now: start.Add(time.Second), names: hub, serverURL: serverURL, serverCA: []byte("CA")}
}

func withAccount(in input, uid string) input {
	in.account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Name: accountName(in.token), Namespace: hub.Registration, UID: types.UID("account-" + uid),
	}}
	return in
}

func TestTokenGivesRegisteringAndNothingElse(t *testing.T) {
	in := inputFor(token("t", time.Hour))
	d := decide(in)

	require.Len(t, d.objects, 3, "account, Role and RoleBinding, before any Secret exists")
	account := d.objects[0].(*corev1.ServiceAccount)
	role := roleOf(t, d.objects)
	binding := d.objects[2].(*rbacv1.RoleBinding)

	assert.Equal(t, names.Account("t", "t-uid"), account.Name)
	assert.Equal(t, hub.Registration, account.Namespace)
	assert.Empty(t, account.OwnerReferences, "none may cross namespaces")
	owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation])
	require.True(t, ok)
	assert.Equal(t, names.OwnerRef{Kind: "ClusterRegistrationToken", Namespace: "fleet-default", Name: "t", UID: "t-uid"}, owner)

	assert.Equal(t, "fleet-default", role.Namespace)
	assert.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{"fleet.cattle.io"}, Resources: []string{"clusterregistrations"}, Verbs: []string{"create", "get"}},
		{APIGroups: []string{"fleet.cattle.io"}, Resources: []string{"clusterregistrationtokens"}, ResourceNames: []string{"t"}, Verbs: []string{"register"}},
	}, role.Rules, "no Secret, no list, no watch")

	assert.Equal(t, "fleet-default", binding.Namespace)
	assert.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, binding.RoleRef)
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: hub.Registration}}, binding.Subjects)
	for _, obj := range d.objects {
		assert.Equal(t, "true", obj.(metav1.Object).GetLabels()[names.ManagedLabel])
	}
}

// R07: the end is counted from the creation, wherever the clock is when it is looked at.
func TestEndIsCountedFromCreation(t *testing.T) {
	const longest = 2562047 * time.Hour
	for name, test := range map[string]struct {
		ttl      time.Duration
		required bool
		after    time.Duration
		ending   ending
		recheck  time.Duration
	}{
		"fresh":                      {ttl: 12 * time.Hour, after: time.Minute, recheck: 12*time.Hour - time.Minute},
		"a moment before its end":    {ttl: time.Hour, after: time.Hour - time.Nanosecond, recheck: time.Nanosecond},
		"at its end":                 {ttl: time.Hour, after: time.Hour, ending: expired},
		"long after, hub was down":   {ttl: 5 * time.Second, after: 48 * time.Hour, ending: expired},
		"no ttl":                     {after: 10000 * time.Hour},
		"negative ttl is no ttl":     {ttl: -time.Hour, after: time.Hour},
		"no ttl but required":        {required: true, ending: withoutTTL},
		"negative ttl but required":  {ttl: -1, required: true, ending: withoutTTL},
		"ttl where one is required":  {ttl: time.Hour, required: true, recheck: time.Hour},
		"the longest does not wrap":  {ttl: longest, recheck: longest},
		"clock behind the creation":  {ttl: time.Hour, after: -time.Hour, recheck: 2 * time.Hour},
		"clock far behind, required": {ttl: time.Hour, required: true, after: -24 * time.Hour, recheck: 25 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputFor(token("t", test.ttl))
			in.now, in.ttlRequired = start.Add(test.after), test.required
			in = withAccount(in, "1")
			in.minted = jwt(in.account.Name, in.account.UID, in.now, in.now.Add(longest))
			d := decide(in)
			assert.Equal(t, test.ending, d.ending)
			assert.Equal(t, test.recheck, d.recheck)
			if test.ending != alive {
				assert.Empty(t, d.objects)
				assert.Nil(t, d.values)
			}
		})
	}
}

func TestZeroTTLIsNone(t *testing.T) {
	zero := token("t", 0)
	zero.Spec.TTL = &metav1.Duration{}
	in := inputFor(zero)
	assert.Equal(t, alive, decide(in).ending)
	in.ttlRequired = true
	assert.Equal(t, withoutTTL, decide(in).ending)
}

func TestStatusExpiresInWholeSeconds(t *testing.T) {
	d := decide(inputFor(token("t", 90*time.Second+time.Millisecond)))
	require.NotNil(t, d.expires)
	assert.Equal(t, start.Add(90*time.Second), d.expires.Time)
	assert.Nil(t, decide(inputFor(token("t", 0))).expires)
}

func TestTokenIsMintedOnlyWhereTheStoredOneDoesNotServe(t *testing.T) {
	const ttl = 12 * time.Hour
	end := start.Add(ttl)
	in := withAccount(inputFor(token("t", ttl)), "1")
	account := in.account
	for name, test := range map[string]struct {
		stored string
		change func(*input)
		mint   bool
	}{
		"good":                 {stored: jwt(account.Name, account.UID, start, end)},
		"ends a moment early":  {stored: jwt(account.Name, account.UID, start, end.Add(-30*time.Second))},
		"lives longer":         {stored: jwt(account.Name, account.UID, start, end.Add(time.Hour))},
		"account not seen yet": {stored: jwt(account.Name, account.UID, start, end), change: func(in *input) { in.account = nil }},
		"account made anew":    {stored: jwt(account.Name, "another", start, end), mint: true},
		"of another account":   {stored: jwt("other", account.UID, start, end), mint: true},
		"without an end":       {stored: jwt(account.Name, account.UID, start, time.Time{}), mint: true},
		"not a JWT":            {stored: "abc", mint: true},
		"none":                 {mint: true},
		"short, fresh":         {stored: jwt(account.Name, account.UID, start, start.Add(time.Hour))},
		"short, due":           {stored: jwt(account.Name, account.UID, start.Add(-time.Hour), start.Add(time.Minute)), mint: true},
		"short, over":          {stored: jwt(account.Name, account.UID, start.Add(-time.Hour), start), mint: true},
		"short, as TTL was raised": {
			stored: jwt(account.Name, account.UID, start, start.Add(time.Hour)), mint: true,
			change: func(in *input) { in.token.Status.Expires = &metav1.Time{Time: start.Add(time.Hour)} },
		},
		"short, TTL as before": {
			stored: jwt(account.Name, account.UID, start, start.Add(time.Hour)),
			change: func(in *input) { in.token.Status.Expires = &metav1.Time{Time: end} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := in
			in.token = in.token.DeepCopy()
			if test.stored != "" {
				first := in
				first.minted = test.stored
				in.values = existing(decide(first).values)
			}
			if test.change != nil {
				test.change(&in)
			}
			d := decide(in)
			if test.mint {
				assert.Equal(t, end.Sub(in.now), d.mint, "what is left of the token's life")
				assert.Nil(t, d.values)
				return
			}
			assert.Zero(t, d.mint)
			assert.Nil(t, d.values, "nothing to write")
			assert.True(t, d.ready.yes, d.ready.message)
			assert.Equal(t, "t", d.secretName)
		})
	}
}

func TestClocksThatDifferALittleMakeNoTokenShort(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour-30*time.Second))
	d := decide(in)
	assert.Empty(t, d.ready.message)
	assert.Equal(t, untilEnd(in), d.recheck)
}

func TestShortTokenIsRenewedAndSaid(t *testing.T) {
	in := withAccount(inputFor(token("t", 30*24*time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, in.now.Add(24*time.Hour))
	d := decide(in)
	assert.True(t, d.ready.yes)
	assert.Contains(t, d.ready.message, "24h0m0s")
	assert.Equal(t, 16*time.Hour, d.recheck, "a third of its life is left then")
}

func TestConfigurationReachesTheValuesWithTheSameToken(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour))
	secret := existing(decide(in).values)
	before := valuesOf(t, secret)
	assert.Equal(t, serverURL, before.APIServerURL)
	assert.Equal(t, "fleet-default", before.ClusterNamespace)
	assert.Equal(t, hub.Registration, before.SystemRegistrationNamespace)
	assert.Equal(t, "t", before.TokenName)
	assert.Empty(t, before.SystemNamespace, "the default one is not said")

	in.values, in.minted = secret, ""
	in.serverURL, in.serverCA = "https://new.example.com", []byte("other CA")
	d := decide(in)
	assert.Zero(t, d.mint)
	require.NotNil(t, d.values)
	assert.Equal(t, secret.UID, d.values.UID, "written in place")
	after := valuesOf(t, d.values)
	assert.Equal(t, "https://new.example.com", after.APIServerURL)
	assert.Equal(t, []byte("other CA"), after.APIServerCA)
	assert.Equal(t, before.Token, after.Token)
}

func TestEmptyURLIsAllowedAndSaid(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour))
	in.serverURL = ""
	d := decide(in)
	assert.True(t, d.ready.yes)
	assert.Contains(t, d.ready.message, "apiServerURL")
	in.values, in.minted = existing(d.values), ""
	again := decide(in)
	assert.Zero(t, again.mint)
	assert.Nil(t, again.values)
}

func TestForeignSecretIsNotOverwritten(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour))
	ours := existing(decide(in).values)
	for name, change := range map[string]func(*corev1.Secret){
		"another type":  func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"no owner":      func(s *corev1.Secret) { s.OwnerReferences = nil },
		"another owner": func(s *corev1.Secret) { s.OwnerReferences[0].UID, s.OwnerReferences[0].Kind = "other", "GitRepo" },
		"another token": func(s *corev1.Secret) { s.OwnerReferences[0].UID, s.OwnerReferences[0].Name = "other", "other" },
	} {
		t.Run(name, func(t *testing.T) {
			in := in
			in.values = ours.DeepCopy()
			change(in.values)
			d := decide(in)
			assert.Nil(t, d.values)
			assert.Zero(t, d.mint)
			assert.False(t, d.ready.yes)
			assert.Equal(t, reasonConflict, d.ready.reason)
			assert.Contains(t, d.ready.message, "fleet-default/t")
			assert.Empty(t, d.secretName)
			assert.Equal(t, time.Hour-time.Second, d.recheck, "it still ends")
			assert.Len(t, d.objects, 3)
		})
	}
}

// R08: without a TTL the token comes from a controller of the API server; whatever is missing is waited for by its event.
func TestEndlessTokenWaitsStepByStep(t *testing.T) {
	in := inputFor(token("t", 0))
	d := decide(in)
	assert.Equal(t, reasonAccount, d.ready.reason)
	assert.True(t, d.needsAccount)
	assert.Nil(t, d.createEndless)

	in = withAccount(in, "1")
	d = decide(in)
	assert.Equal(t, reasonToken, d.ready.reason)
	require.NotNil(t, d.createEndless)
	secret := existing(d.createEndless)
	assert.Equal(t, hub.Registration, secret.Namespace)
	assert.Equal(t, corev1.SecretTypeServiceAccountToken, secret.Type)
	assert.Equal(t, in.account.Name, secret.Annotations[corev1.ServiceAccountNameKey])
	assert.Equal(t, in.account.UID, secret.OwnerReferences[0].UID)
	assert.Empty(t, secret.Data)

	in.endless = secret
	d = decide(in)
	assert.Equal(t, reasonToken, d.ready.reason)
	assert.Contains(t, d.ready.message, "kube-controller-manager")
	assert.Nil(t, d.createEndless)
	assert.Zero(t, d.recheck, "no polling")

	in.endless.Annotations[corev1.ServiceAccountUIDKey] = string(in.account.UID)
	in.endless.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte(jwt(in.account.Name, in.account.UID, time.Time{}, time.Time{}))}
	d = decide(in)
	assert.True(t, d.ready.yes)
	assert.Equal(t, string(in.endless.Data["token"]), valuesOf(t, d.values).Token)
	assert.Zero(t, d.mint)
	assert.Zero(t, d.recheck)

	in.values = existing(d.values)
	d = decide(in)
	assert.Nil(t, d.values)

	in.account.UID = "made anew"
	d = decide(in)
	assert.Equal(t, in.endless, d.dropEndless)
	assert.False(t, d.ready.yes)
}

func TestEndlessSecretGoesWhenATTLComes(t *testing.T) {
	in := withAccount(inputFor(token("t", 0)), "1")
	in.endless = existing(decide(in).createEndless)
	in.token.Spec.TTL = &metav1.Duration{Duration: time.Hour}
	d := decide(in)
	assert.Equal(t, in.endless, d.dropEndless)
	assert.NotZero(t, d.mint)
}

func TestEndlessSecretOfAnotherTypeIsAConflict(t *testing.T) {
	in := withAccount(inputFor(token("t", 0)), "1")
	in.endless = existing(decide(in).createEndless)
	in.endless.Type = corev1.SecretTypeOpaque
	d := decide(in)
	assert.Equal(t, reasonConflict, d.ready.reason)
	assert.Nil(t, d.dropEndless)
}

// The apply engine of earlier versions noted the beginning of the token on the Secret.
func TestNotesOfTheApplyEngineAreTakenOffTheSecret(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour))
	in.values = existing(decide(in).values)
	in.values.Annotations = map[string]string{"objectset.rio.cattle.io/applied": "H4sI", "mine": "kept"}
	in.values.Labels["objectset.rio.cattle.io/hash"] = "1"
	in.values.Data["other"] = []byte("kept")
	in.minted = ""
	d := decide(in)
	require.NotNil(t, d.values)
	assert.Equal(t, map[string]string{"mine": "kept"}, d.values.Annotations)
	assert.NotContains(t, d.values.Labels, "objectset.rio.cattle.io/hash")
	assert.Equal(t, []byte("kept"), d.values.Data["other"])
}

func TestSystemNamespaceIsSaidWhereItIsNotTheDefault(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	in.names = names.NamespacesOf("fleet-x")
	in.minted = jwt(in.account.Name, in.account.UID, in.now, start.Add(time.Hour))
	values := valuesOf(t, decide(in).values)
	assert.Equal(t, "fleet-x", values.SystemNamespace)
	assert.Equal(t, in.names.Registration, values.SystemRegistrationNamespace)
}

// D02: names of any length stay within what the API takes, and apart.
func TestLongNamesStayValidAndApart(t *testing.T) {
	long := strings.Repeat("a", 253)
	seen := map[string]bool{}
	for _, n := range []int{40, 63, 64, 100, 252, 253} {
		for _, obj := range decide(inputFor(token(long[:n], time.Hour))).objects {
			name := obj.(metav1.Object).GetName()
			assert.LessOrEqual(t, len(name), 63)
			assert.False(t, seen[name], name)
			seen[name] = true
		}
	}
}

// Accounts of all workspaces share a namespace, and the names of long tokens are cut: nobody may get another's account.
func TestAccountOfAnotherTokenIsNotTakenOver(t *testing.T) {
	in := withAccount(inputFor(token("t", time.Hour)), "1")
	other := names.OwnerRef{Kind: kind, Namespace: "other", Name: "t", UID: "2"}.String()
	in.account.Annotations = map[string]string{names.OwnerAnnotation: other}
	d := decide(in)
	assert.Empty(t, d.objects)
	assert.Zero(t, d.mint)
	assert.Equal(t, reasonAccountConflict, d.ready.reason)
	assert.Contains(t, d.ready.message, other)
	assert.Equal(t, time.Hour-time.Second, d.recheck)

	in.account.Annotations[names.OwnerAnnotation] = "damaged"
	assert.Len(t, decide(in).objects, 3, "is repaired")
}

// existing is an object as the API server gives it back.
func existing(secret *corev1.Secret) *corev1.Secret {
	secret = secret.DeepCopy()
	secret.ResourceVersion = "1"
	if secret.UID == "" {
		secret.UID = "secret-uid"
	}
	return secret
}
