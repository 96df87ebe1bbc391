package clusterimport

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	createToken = "create Token " + workspace + "/" + tokenName
	deleteToken = "delete Token " + workspace + "/" + tokenName
)

func (h *hub) bootstrap(t *testing.T, p plan, changes ...func(*facts)) (*registration.Bootstrap, error) {
	t.Helper()
	p.target = target{serverURL: "https://effective.example.com", serverCA: []byte("effective CA")}
	b, _, err := h.bootstrapFor(factsOf(cluster(), changes...), p)
	return b, err
}

func TestTheImportTokenIsMadeForTheClusterWithAnEnd(t *testing.T) {
	h := newHub(t)

	b, err := h.bootstrap(t, plan{})

	require.NoError(t, err)
	assert.Nil(t, b, "it waits without holding a worker")
	assert.Equal(t, []string{createToken}, h.writes())
	token := h.tokens.Live(workspace, tokenName)
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster", Name: edge, UID: edgeUID}}, token.OwnerReferences)
	assert.Equal(t, 12*time.Hour, token.Spec.TTL.Duration)
	assert.Equal(t, map[string]string{"fleet.cattle.io/managed": "true"}, token.Labels)

	b, err = h.bootstrap(t, plan{})
	require.NoError(t, err)
	assert.Nil(t, b, "its values are not there yet")
	assert.Empty(t, h.writes())

	h.answerToken(t)
	b, err = h.bootstrap(t, plan{})
	require.NoError(t, err)
	require.NotNil(t, b)
	assert.Equal(t, "https://effective.example.com", b.APIServerURL, "the effective address counts, not the one of the values")
	assert.Equal(t, "effective CA", string(b.APIServerCA))
	assert.Equal(t, tokenName, b.TokenName)
	assert.Equal(t, workspace, b.ClusterNamespace)
}

func TestEachImportHasATokenOfItsOwn(t *testing.T) {
	ttl := func(left time.Duration) func(*fleet.ClusterRegistrationToken) {
		return func(t *fleet.ClusterRegistrationToken) {
			t.Spec.TTL = &metav1.Duration{Duration: 12 * time.Hour}
			t.CreationTimestamp = metav1.NewTime(now.Add(left - 12*time.Hour))
		}
	}
	usedBy := func(uid string) func(*facts) { return func(f *facts) { f.record.TokenUID = uid } }
	for name, test := range map[string]struct {
		token *fleet.ClusterRegistrationToken
		plan  plan
		facts func(*facts)
		want  []string
	}{
		"fresh, and the last import used it":     {importToken(), plan{fresh: true}, usedBy(tokenUID), []string{deleteToken, createToken}},
		"fresh, and nobody used it":              {importToken(), plan{fresh: true}, usedBy("uid-of-an-earlier-one"), nil},
		"the same import is tried once more":     {importToken(), plan{}, usedBy(tokenUID), nil},
		"it has not enough of its life left":     {importToken(ttl(9 * time.Minute)), plan{}, usedBy(""), []string{deleteToken, createToken}},
		"it has just enough of its life left":    {importToken(ttl(10 * time.Minute)), plan{}, usedBy(""), nil},
		"it is over":                             {importToken(ttl(-time.Hour)), plan{}, usedBy(""), []string{deleteToken, createToken}},
		"it is being deleted, and is waited for": {importToken(func(t *fleet.ClusterRegistrationToken) { t.DeletionTimestamp = &metav1.Time{Time: now} }), plan{fresh: true}, usedBy(tokenUID), nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.tokens.Add(test.token)
			_, err := h.bootstrap(t, test.plan, test.facts)
			require.NoError(t, err)
			assert.Equal(t, test.want, h.writes())
		})
	}
}

func TestATokenThatWasNotMadeForTheClusterIsNotTaken(t *testing.T) {
	h := newHub(t)
	h.tokens.Add(importToken(func(t *fleet.ClusterRegistrationToken) { t.OwnerReferences[0].UID = "uid-of-an-earlier-edge" }))
	_, err := h.bootstrap(t, plan{fresh: true})
	reason, message := explain(err, "s", trusted{})
	assert.Equal(t, "ImportTokenTaken", reason)
	assert.Contains(t, message, tokenName)
	assert.Contains(t, message, "delete it")
	assert.Empty(t, h.writes())
}

func TestValuesThatAreNotThisTokensAreWaitedFor(t *testing.T) {
	for name, change := range map[string]func(*corev1.Secret){
		"of an earlier token":          func(s *corev1.Secret) { s.OwnerReferences[0].UID = "x" },
		"a user's own secret":          func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"without a document":           func(s *corev1.Secret) { s.Data = nil },
		"with one that cannot be read": func(s *corev1.Secret) { s.Data[registration.KeyValues] = []byte("\t") },
		"without a token":              func(s *corev1.Secret) { s.Data[registration.KeyValues] = []byte("clusterNamespace: x") },
	} {
		h := newHub(t)
		h.tokens.Add(importToken())
		secret := valuesOf(t, importToken(), jwt("u"))
		change(secret)
		h.secrets.Add(secret)
		b, err := h.bootstrap(t, plan{})
		require.NoError(t, err, name)
		assert.Nil(t, b, name)
		assert.Empty(t, h.writes(), name)
	}
}

func TestValuesThatAreWrongAreAnErrorWithoutTheToken(t *testing.T) {
	for says, change := range map[string][2]string{
		"registration namespace": {hubNames().Registration, "another-clusters-system"},
		"no namespace":           {"clusterNamespace: " + workspace, "clusterNamespace: 'Not A Namespace'"},
	} {
		h := newHub(t)
		h.tokens.Add(importToken())
		secret := valuesOf(t, importToken(), jwt("u"))
		document := string(secret.Data[registration.KeyValues])
		require.Contains(t, document, change[0])
		secret.Data[registration.KeyValues] = []byte(strings.Replace(document, change[0], change[1], 1))
		h.secrets.Add(secret)
		_, err := h.bootstrap(t, plan{})
		require.ErrorContains(t, err, says)
		assert.ErrorContains(t, err, tokenName)
		assert.NotContains(t, err.Error(), jwt("u"))
	}
}

// A01: the import token cannot be made, or not be replaced.
func TestATokenThatCannotBeWrittenIsAnError(t *testing.T) {
	h := newHub(t)
	h.fails[createToken] = errors.New("quota")
	_, err := h.bootstrap(t, plan{})
	require.ErrorContains(t, err, "quota")

	h.tokens.Add(importToken())
	h.fails = map[string]error{deleteToken: errors.New("no")}
	_, err = h.bootstrap(t, plan{fresh: true}, func(f *facts) { f.record.TokenUID = tokenUID })
	require.ErrorContains(t, err, "no")
}

func TestATokenThatTheCacheHasNotSeenYetIsNoFailure(t *testing.T) {
	h := newHub(t)
	h.tokens.Lag = true
	for range 2 {
		_, err := h.bootstrap(t, plan{})
		require.NoError(t, err)
	}
	assert.Equal(t, 1, h.tokens.Len())
}

func TestTheNameOfATokenIsShortenedAsEverywhere(t *testing.T) {
	long := strings.Repeat("x", 80)
	assert.Len(t, names.ImportToken(long), 63)
	assert.True(t, strings.HasPrefix(names.ImportToken(long), "import-token-"))
}
