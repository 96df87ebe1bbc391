package credentialaccess

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// S01: a Role that lists nothing must not become one that lists everything.
func TestAnAccountReadsWhatWaitsForItAndNothingElse(t *testing.T) {
	w := newWorld()
	w.run(t)
	assert.Empty(t, w.readable(), "before any grant")

	w.secrets.Add(credential("c-one"), credential("c-two"))
	other := credential("c-other")
	other.Annotations[names.ImportAccountAnnotation] = "other-account"
	plain := credential("plain")
	plain.Type = corev1.SecretTypeOpaque
	w.secrets.Add(other, plain)
	w.run(t)
	assert.ElementsMatch(t, []string{"c-one", "c-two"}, w.readable())

	w.secrets.Remove(hub.Registration, "c-one")
	w.run(t)
	assert.Equal(t, []string{"c-two"}, w.readable())

	w.secrets.Remove(hub.Registration, "c-two")
	w.run(t)
	assert.Empty(t, w.readable(), "after the last was taken")
	require.NotNil(t, w.roles.Live(hub.Registration, names.CredentialAccess(accountName)))
	assert.Empty(t, w.roles.Live(hub.Registration, names.CredentialAccess(accountName)).Rules)
}

func TestNothingIsWrittenWhenNothingChanges(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	w.roles.Writes()
	w.bindings.Writes()

	w.run(t)

	assert.Empty(t, w.roles.Writes())
	assert.Empty(t, w.bindings.Writes())
}

func TestAJoinCostsOneWriteToGiveAndOneToTake(t *testing.T) {
	w := newWorld()
	w.run(t)
	w.roles.Writes()
	w.bindings.Writes()

	w.secrets.Add(credential("c-one"))
	w.run(t)
	assert.Len(t, w.roles.Writes(), 1)
	w.secrets.Remove(hub.Registration, "c-one")
	w.run(t)
	assert.Len(t, w.roles.Writes(), 1)
	assert.Empty(t, w.bindings.Writes())
}

func TestManyAtOnceShareOneWrite(t *testing.T) {
	w := newWorld()
	for i := range 50 {
		w.secrets.Add(credential(fmt.Sprintf("c-%02d", i)))
	}
	w.run(t)
	assert.Len(t, w.roles.Writes(), 1)
	assert.Len(t, w.readable(), 50)
}

// The cache is behind what was just written while many agents join.
func TestALateCacheLosesNobody(t *testing.T) {
	w := newWorld()
	w.run(t)
	w.roles.Lag = true
	w.secrets.Add(credential("c-one"))
	w.run(t)
	w.secrets.Add(credential("c-two"))
	w.run(t)
	assert.ElementsMatch(t, []string{"c-one", "c-two"}, w.readable())

	w.secrets.Remove(hub.Registration, "c-one")
	w.secrets.Remove(hub.Registration, "c-two")
	w.run(t) // the cache still shows a Role that lists nothing
	w.roles.Sync()
	w.run(t) // as the event of that write has it
	assert.Empty(t, w.readable())
}

func TestWhatDoesNotFitGoesIntoAnotherRole(t *testing.T) {
	w := newWorld()
	for i := range 2*maxNames + 1 {
		w.secrets.Add(credential(fmt.Sprintf("c-%03d", i)))
	}
	w.run(t)
	assert.Len(t, w.readable(), 2*maxNames+1)
	assert.Equal(t, 3, w.roles.Len())
	for i := range 3 {
		role := w.roles.Live(hub.Registration, roleName(accountName, i))
		require.NotNil(t, role)
		assert.LessOrEqual(t, len(role.Rules[0].ResourceNames), maxNames)
	}
	w.roles.Writes()

	w.secrets.Remove(hub.Registration, "c-000")
	w.run(t)
	assert.Equal(t, []string{"patch " + hub.Registration + "/" + roleName(accountName, 0)}, w.roles.Writes(), "the others stay where they are")

	for i := range 2*maxNames + 1 {
		w.secrets.Remove(hub.Registration, fmt.Sprintf("c-%03d", i))
	}
	w.run(t)
	w.roles.Sync()
	assert.Empty(t, w.readable())
	assert.Equal(t, 1, w.roles.Len(), "the Roles for what did not fit go")
	assert.Equal(t, 1, w.bindings.Len())
}

func TestTheHubsOwnTokenLeavesNoRoleBehind(t *testing.T) {
	w := newWorld(metav1.OwnerReference{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: "edge", UID: "cluster-uid"})
	w.token(names.ImportToken("edge"))
	w.run(t)
	assert.Zero(t, w.roles.Len(), "nothing waits yet")

	w.secrets.Add(credential("c-one"))
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable())

	w.secrets.Remove(hub.Registration, "c-one")
	w.run(t)
	assert.Zero(t, w.roles.Len())
	assert.Zero(t, w.bindings.Len())
}

func TestAccessGoesWithTheAccountAndNotWithACacheThatMissesIt(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)

	w.accounts.Hide(hub.Registration, accountName)
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable(), "the API server still has it")
	w.tokens.Hide("fleet-default", "people")
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable(), "and its token")

	w.accounts.Remove(hub.Registration, accountName)
	w.run(t)
	assert.Zero(t, w.roles.Len())
	assert.Zero(t, w.bindings.Len())
}

func TestAccessGoesWithTheToken(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	w.tokens.Remove("fleet-default", "people")
	w.run(t)
	assert.Zero(t, w.roles.Len())
	assert.Zero(t, w.bindings.Len())
}

func TestWhatWasEditedByHandIsRepaired(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	name := names.CredentialAccess(accountName)

	role := w.roles.Live(hub.Registration, name)
	role.Rules[0].ResourceNames = nil // everything
	_, err := w.roles.Update(role)
	require.NoError(t, err)
	assert.Equal(t, []string{"everything"}, w.readable())
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable())

	binding := w.bindings.Live(hub.Registration, name)
	binding.Subjects[0].Name = "somebody"
	_, err = w.bindings.Update(binding)
	require.NoError(t, err)
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable())

	binding = w.bindings.Live(hub.Registration, name)
	w.bindings.Remove(hub.Registration, name)
	binding.RoleRef.Name = "other"
	w.bindings.Add(binding)
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable())
}

func TestOtherAccountsAreLeftAlone(t *testing.T) {
	w := newWorld()
	foreign := importAccount()
	foreign.Name, foreign.Annotations = "default", nil
	w.accounts.Add(foreign)
	_, err := w.onAccount(hub.Registration+"/default", foreign)
	require.NoError(t, err)
	foreign.Namespace = hub.Agents
	_, err = w.onAccount(hub.Agents+"/default", foreign)
	require.NoError(t, err)
	assert.Zero(t, w.roles.Len())
}

func TestWhatLiesElsewhereNamesNoAccount(t *testing.T) {
	w := newWorld()
	secret := credential("c-one")
	secret.Namespace = "fleet-default"
	w.secrets.Add(secret)
	keys, err := w.accountOf("", "", secret)
	require.NoError(t, err)
	assert.Empty(t, keys)
	w.run(t)
	assert.Empty(t, w.readable())

	keys, err = w.accountOf("", "", credential("c-two"))
	require.NoError(t, err)
	require.Len(t, keys, 1)
	assert.Equal(t, accountName, keys[0].Name)
}

func TestAPersonsTokenMayHaveAnOwnerOfItsOwn(t *testing.T) {
	w := newWorld(metav1.OwnerReference{Kind: "Application", Name: "edge", UID: "app-uid"})
	w.run(t)
	assert.Equal(t, 1, w.roles.Len(), "its Role stays while nothing waits")
}

// The token of that name was made anew: what the earlier one's account may still read is no business of the new one's.
func TestAnAccountOfAnEarlierTokenReadsNothing(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	w.tokens.Remove("fleet-default", "people")
	w.tokens.Add(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "people", UID: "another"}})
	w.run(t)
	assert.Zero(t, w.roles.Len())
}

func TestAnAccountThatDoesNotSayWhoseItIsKeepsWhatItHas(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	account := importAccount()
	account.Annotations = nil
	w.accounts.Add(account)
	w.run(t)
	assert.Equal(t, []string{"c-one"}, w.readable())
}

// The cache still shows a Role that went with its last Secret when the next one comes.
func TestARoleThatIsGoneAlreadyIsMadeAnew(t *testing.T) {
	w := newWorld()
	w.secrets.Add(credential("c-one"))
	w.run(t)
	w.roles.Lag, w.bindings.Lag = true, true
	w.roles.Remove(hub.Registration, names.CredentialAccess(accountName))
	w.bindings.Remove(hub.Registration, names.CredentialAccess(accountName))
	w.secrets.Add(credential("c-two"))
	w.run(t)
	w.bindings.Sync()
	w.run(t) // as the event of the deletion has it
	assert.Equal(t, []string{"c-one", "c-two"}, w.readable())
}

func TestAnEmptyRoleBetweenOthersStays(t *testing.T) {
	w := newWorld()
	for i := range 3 * maxNames {
		w.secrets.Add(credential(fmt.Sprintf("c-%03d", i)))
	}
	w.run(t)
	for i := range maxNames {
		w.secrets.Remove(hub.Registration, fmt.Sprintf("c-%03d", maxNames+i))
	}
	w.roles.Writes()
	w.run(t)
	assert.Equal(t, []string{"patch " + hub.Registration + "/" + roleName(accountName, 1)}, w.roles.Writes())
	w.run(t)
	assert.Empty(t, w.roles.Writes())
	assert.Len(t, w.readable(), 2*maxNames)
}
