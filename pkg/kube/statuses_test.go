package kube

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
)

// laggingClusters are clusters whose cache stays behind.
type laggingClusters struct {
	fleetv1.ClusterController
	cached *fleet.Cluster
}

func (l *laggingClusters) Cache() generic.CacheInterface[*fleet.Cluster] {
	return laggingCache{l.ClusterController.Cache(), l.cached}
}

type laggingCache struct {
	generic.CacheInterface[*fleet.Cluster]
	cached *fleet.Cluster
}

func (l laggingCache) Get(string, string) (*fleet.Cluster, error) { return l.cached, nil }

func lagging(t *testing.T, hub *Hub) *laggingClusters {
	t.Helper()
	cached, err := hub.Fleet.Cluster().Cache().Get("ws", "edge")
	require.NoError(t, err)
	return &laggingClusters{hub.Fleet.Cluster(), cached}
}

// Each controller has what it is given of the same cache: what one wrote the next knows of, however late the watch is.
func TestSeveralWritersOfOneStatusMeetNoConflict(t *testing.T) {
	server, hub := clusters(t)
	stale := lagging(t, hub)
	var reads atomic.Int32
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			reads.Add(1)
		}
		return false
	})

	const writers = 12
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			kind := fmt.Sprintf("Kind%d", i)
			_, err := UpdateStatus(&laggingClusters{hub.Fleet.Cluster(), stale.cached}, "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) {
				conditions.SetCondition(&s.Conditions, kind, metav1.ConditionTrue, "", "", time.Unix(1000, 0))
			})
			assert.NoError(t, err)
		})
	}
	all.Wait()

	assert.Len(t, server.Writes(), writers, "no write was refused and done again")
	live, err := hub.Fleet.Cluster().Get("ws", "edge", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Len(t, live.Status.Conditions, writers)
	assert.EqualValues(t, 1, reads.Load(), "but for the one of this test")

	_, err = UpdateStatus(stale, "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) {
		conditions.SetCondition(&s.Conditions, "Kind0", metav1.ConditionTrue, "", "", time.Unix(1000, 0))
	})
	require.NoError(t, err)
	assert.Len(t, server.Writes(), writers, "what the cache does not show is not written again")
}

// An agent writes its part too, of which this process hears by its watch alone.
func TestWhatOthersWroteMeanwhileIsKept(t *testing.T) {
	server, hub := clusters(t)
	stale := lagging(t, hub)
	set := func(name string) {
		_, err := UpdateStatus(stale, "ws", "edge", ClusterStatus, func(s *fleet.ClusterStatus) { s.Namespace = name })
		require.NoError(t, err)
	}
	set("one")
	live, err := hub.Fleet.Cluster().Get("ws", "edge", metav1.GetOptions{})
	require.NoError(t, err)
	live = live.DeepCopy()
	live.Status.Agent.Namespace = "the-agent's"
	_, err = hub.Fleet.Cluster().UpdateStatus(live)
	require.NoError(t, err)

	set("two")
	set("three")

	live, err = hub.Fleet.Cluster().Get("ws", "edge", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "the-agent's", live.Status.Agent.Namespace)
	assert.Equal(t, "three", namespaceOf(t, server))
}

// A cache that has caught up is believed: an object may have been changed by anyone since.
func TestWhatTheCacheShowsIsNotRemembered(t *testing.T) {
	_, hub := clusters(t)
	obj, err := hub.Fleet.Cluster().Cache().Get("ws", "edge")
	require.NoError(t, err)
	written := obj.DeepCopy()
	written.ResourceVersion, written.Status.Namespace = "1000000", "mine"
	e := &writtenStatus{}
	note(e, written, ClusterStatus)
	assert.Equal(t, "mine", latest(e, obj, ClusterStatus).Status.Namespace)
	assert.Empty(t, obj.Status.Namespace, "the cache's object is not changed")

	caughtUp := obj.DeepCopy()
	caughtUp.ResourceVersion = "1000001"
	assert.Same(t, caughtUp, latest(e, caughtUp, ClusterStatus))
	assert.Empty(t, e.version)
}
