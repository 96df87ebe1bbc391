package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// Somebody makes the namespace in the moment before the hub does, and the cache does not show it yet.
func TestANamespaceThatIsThereBeforeTheCacheShowsItIsGivenNothing(t *testing.T) {
	h := newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.namespaces.Lag = true
	_, err := h.namespaces.Create(namespace(nil))
	require.NoError(t, err)
	h.looks(t, 1)
	assert.Empty(t, h.edge().Status.Namespace)
	lease, err := h.leases.Get(place(), names.HeartbeatLease, metav1.GetOptions{})
	assert.Error(t, err, "%v", lease)

	// The hub's own write, which the cache has yet to see.
	h = newHub(t)
	h.clusters.Add(newCluster(prepare))
	h.namespaces.Lag = true
	_, err = h.namespaces.Create(namespace(ownedBy(edgeUID)))
	require.NoError(t, err)
	h.looks(t, 1)
	assert.Equal(t, place(), h.edge().Status.Namespace)
}
