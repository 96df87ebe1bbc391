package kube

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// clusters is a hub whose cache holds one Cluster.
func clusters(t *testing.T) (*kubetest.Server, *Hub) {
	t.Helper()
	server := kubetest.New(t)
	server.Put(&fleet.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge"},
	})
	hub := newHub(t, server)
	hub.Fleet.Cluster().Cache()
	start(t, hub)
	server.Reset()
	return server, hub
}

func namespaceOf(t *testing.T, server *kubetest.Server) string {
	t.Helper()
	status, _ := server.Object("Cluster", "ws", "edge").Object["status"].(map[string]any)
	namespace, _ := status["namespace"].(string)
	return namespace
}

func TestAStatusIsWrittenOnlyWhenItDiffers(t *testing.T) {
	server, hub := clusters(t)

	got, err := UpdateStatus(hub.Fleet.Cluster(), "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = "cluster-ws-edge" })
	require.NoError(t, err)
	assert.Equal(t, "cluster-ws-edge", got.Status.Namespace)
	assert.Equal(t, "cluster-ws-edge", namespaceOf(t, server))
	assert.Len(t, server.Writes(), 1)

	require.Eventually(t, func() bool {
		c, err := hub.Fleet.Cluster().Cache().Get("ws", "edge")
		return err == nil && c.Status.Namespace != ""
	}, deadlineFor, 5*time.Millisecond)
	server.Reset()
	got, err = UpdateStatus(hub.Fleet.Cluster(), "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = "cluster-ws-edge" })
	require.NoError(t, err)
	assert.Equal(t, "cluster-ws-edge", got.Status.Namespace)
	assert.Empty(t, server.Requests(), "nothing changed, nothing is asked")
}

func TestTheCachedObjectIsNeverChanged(t *testing.T) {
	server, hub := clusters(t)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		kubetest.Fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "out")
		return true
	})

	_, err := UpdateStatus(hub.Fleet.Cluster(), "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = "x" })

	assert.ErrorContains(t, err, "ws/edge")
	cached, err := hub.Fleet.Cluster().Cache().Get("ws", "edge")
	require.NoError(t, err)
	assert.Empty(t, cached.Status.Namespace)
}

// A failed write of wrangler's clients returns an empty object beside the error: taken over, it loses the status of others.
func TestAConflictIsAnsweredWithTheLiveObject(t *testing.T) {
	server, hub := clusters(t)
	others := server.Object("Cluster", "ws", "edge")
	others.Object["status"] = map[string]any{"agent": map[string]any{"namespace": "written-by-the-agent"}}
	stale := &staleCluster{StatusController: hub.Fleet.Cluster()}
	var err error
	stale.cached, err = hub.Fleet.Cluster().Cache().Get("ws", "edge")
	require.NoError(t, err)
	server.Put(others)

	got, err := UpdateStatus(stale, "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = "mine" })

	require.NoError(t, err)
	assert.Equal(t, "edge", got.Name)
	assert.Equal(t, "mine", got.Status.Namespace)
	assert.Equal(t, "written-by-the-agent", got.Status.Agent.Namespace)
	assert.Equal(t, "mine", namespaceOf(t, server))
}

func TestConflictsWithoutEndAreAnError(t *testing.T) {
	server, hub := clusters(t)
	var tries atomic.Int32
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut {
			return false
		}
		tries.Add(1)
		kubetest.Fail(w, http.StatusConflict, metav1.StatusReasonConflict, "again")
		return true
	})

	got, err := UpdateStatus(hub.Fleet.Cluster(), "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = "mine" })

	assert.True(t, apierrors.IsConflict(err), "%v", err)
	assert.Nil(t, got)
	assert.EqualValues(t, statusTries, tries.Load())
}

func TestAnObjectThatIsGoneOrAnotherIsLeftAlone(t *testing.T) {
	server, hub := clusters(t)
	stale := &staleCluster{StatusController: hub.Fleet.Cluster()}
	var err error
	stale.cached, err = hub.Fleet.Cluster().Cache().Get("ws", "edge")
	require.NoError(t, err)
	set := func(s *fleet.ClusterStatus) { s.Namespace = "mine" }

	server.Remove("Cluster", "ws", "edge")
	got, err := UpdateStatus(stale, "ws", "edge", ClusterStatus, set)
	require.NoError(t, err)
	assert.Nil(t, got)

	server.Put(&fleet.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "edge"},
	})
	got, err = UpdateStatus(stale, "ws", "edge", ClusterStatus, set)
	require.NoError(t, err)
	assert.Nil(t, got)
	assert.Empty(t, namespaceOf(t, server), "the decision was about another object of that name")

	got, err = UpdateStatus(hub.Fleet.Cluster(), "ws", "never-was", ClusterStatus, set)
	require.NoError(t, err)
	assert.Nil(t, got)
}

// staleCluster has a cache that stays behind.
type staleCluster struct {
	StatusController[*fleet.Cluster]
	cached *fleet.Cluster
}

func (s *staleCluster) Cache() generic.CacheInterface[*fleet.Cluster] {
	return staleCache{cached: s.cached}
}

type staleCache struct {
	generic.CacheInterface[*fleet.Cluster]
	cached *fleet.Cluster
}

func (s staleCache) Get(string, string) (*fleet.Cluster, error) { return s.cached, nil }
