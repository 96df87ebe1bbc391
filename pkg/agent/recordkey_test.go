package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// The key of the records is the agent's for as long as its own is, and tells nothing about that.
func TestTheKeyOfTheRecordsIsMadeFromTheAgentsOwn(t *testing.T) {
	const namespace = "cattle-fleet-system"
	identity := func(private string) *fake.Clientset {
		return fake.NewClientset(&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.AgentIdentitySecret},
			Data:       map[string][]byte{registration.KeyPrivateKey: []byte(private)},
		})
	}
	keyOf := func(client *fake.Clientset) []byte {
		t.Helper()
		key, err := recordKey(t.Context(), client, namespace)
		require.NoError(t, err)
		return key
	}
	one := keyOf(identity("one"))
	assert.Len(t, one, 32)
	assert.NotContains(t, string(one), "one")
	assert.Equal(t, one, keyOf(identity("one")))
	assert.NotEqual(t, one, keyOf(identity("another")))
	assert.Empty(t, keyOf(identity("")))
	assert.Empty(t, keyOf(fake.NewClientset()), "it has none yet")

	silent := identity("one")
	silent.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	_, err := recordKey(t.Context(), silent, namespace)
	require.ErrorContains(t, err, "no answer")
}
