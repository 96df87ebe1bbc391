package clusterregistration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// setRevoked has a person revoke the cluster, or readmit it.
func (h *hub) setRevoked(t *testing.T, revoked bool) {
	t.Helper()
	c := h.clusters.Live(workspace, edge)
	c.Spec.Revoked = revoked
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.writes()
}

// The set takes away what a cache shows. The account is looked for past it, and a finalizer keeps it from going.
func TestAnAccountThatIsHeldByAFinalizerIsLetGo(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.setRevoked(t, true)
	h.granted.has = map[string][]runtime.Object{} // as for a cache that is behind
	h.accounts.Remove(hubNames().Agents, accountName)
	h.accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Agents, Name: accountName, Finalizers: []string{"attack.example/forever"},
		DeletionTimestamp: &metav1.Time{Time: now}, Annotations: map[string]string{names.OwnerAnnotation: owner(request())},
	}})
	h.accounts.Hide(hubNames().Agents, accountName)

	err := h.look(t, "request-1")

	// The store does not end what has lost its last finalizer; the API server does.
	require.ErrorContains(t, err, "is still there")
	assert.Empty(t, h.accounts.Live(hubNames().Agents, accountName).Finalizers)
	assert.True(t, h.live("request-1").Status.Granted, "nothing is said to be taken back that is not")

	h.accounts.Remove(hubNames().Agents, accountName)
	require.NoError(t, h.look(t, "request-1"))
	assert.False(t, h.live("request-1").Status.Granted)
}

func TestAnAccountThatTheCacheDoesNotShowIsDeletedAllTheSame(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.setRevoked(t, true)
	h.granted.has = map[string][]runtime.Object{} // as for a cache that is behind
	h.accounts.Remove(hubNames().Agents, accountName)
	h.accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Agents, Name: accountName, Annotations: map[string]string{names.OwnerAnnotation: owner(request())},
	}})
	h.accounts.Hide(hubNames().Agents, accountName)

	require.NoError(t, h.look(t, "request-1"))

	assert.Nil(t, h.accounts.Live(hubNames().Agents, accountName))
	assert.False(t, h.live("request-1").Status.Granted)
}

// What was granted before does not come back by itself: whoever has the key or the token of then is not known any more.
func TestAfterReadmissionTheAgentHasToAskAnew(t *testing.T) {
	h := joining(t)
	require.NoError(t, h.look(t, "request-1"))
	h.setRevoked(t, true)
	require.NoError(t, h.look(t, "request-1"))
	h.setRevoked(t, false)

	require.NoError(t, h.look(t, "request-1"))

	assert.Nil(t, h.live("request-1"), "its agent finds it gone and asks again")
	assert.Nil(t, h.accounts.Live(hubNames().Agents, accountName))
}

// A request that came while the cluster was revoked was never granted, and waits for the readmission.
func TestARequestThatCameMeanwhileIsGrantedAfterReadmission(t *testing.T) {
	h := joining(t)
	h.setRevoked(t, true)
	require.NoError(t, h.look(t, "request-1"))
	require.False(t, h.live("request-1").Status.Granted)
	h.setRevoked(t, false)

	require.NoError(t, h.look(t, "request-1"))

	assert.True(t, h.live("request-1").Status.Granted)
}

// A heartbeat tells no UID, so that a pin on use has none until the agent registers.
func TestAPinOnUseIsCompletedByTheNextRequestOfItsKey(t *testing.T) {
	onUse := annotated(names.IdentityAnnotation, registration.Pin{Fingerprint: agentKey.Fingerprint()}.Annotation())
	d := decide(asked(request(), toCluster(cluster(onUse))))
	require.Equal(t, grant, d.outcome, d.message)
	assert.Equal(t, &registration.Pin{Fingerprint: agentKey.Fingerprint(), ClusterUID: downUID}, d.pin)

	d = decide(asked(request(withKey(otherKey, downUID)), toCluster(cluster(onUse))))
	assert.Equal(t, "IdentityConflict", d.reason)
	d = decide(asked(request(func(r *fleet.ClusterRegistration) { r.Spec.Identity = nil }), toCluster(cluster(onUse))))
	assert.Equal(t, "IdentityConflict", d.reason)
}
