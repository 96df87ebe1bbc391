package clusterimport

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
)

// fed is a hub whose queue only counts: what it got stands in the returned function's result.
func fed(t *testing.T) (*hub, func() []string) {
	t.Helper()
	h := newHub(t)
	got := make(chan string, 100)
	h.queue = kube.NewQueue("test", 1, time.Millisecond, time.Second, func(_ context.Context, key string) error {
		got <- key
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { h.queue.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	queued := func() []string {
		t.Helper()
		h.queue.Add("the end") // one worker works in order: what was fed before has come before
		var keys []string
		for {
			select {
			case key := <-got:
				if key == "the end" {
					return keys
				}
				keys = append(keys, key)
			case <-time.After(20 * time.Second):
				require.FailNow(t, "the queue does not run")
			}
		}
	}
	queued() // what comes before the queue runs is kept in no order
	return h, queued
}

func (h *hub) event(t *testing.T) {
	t.Helper()
	c, err := h.clusters.Cache().Get(workspace, edge)
	require.NoError(t, err)
	got, err := h.onChange(key, c)
	require.NoError(t, err)
	require.Same(t, c, got)
}

func TestOnlyWhatADecisionRestsOnFeedsTheQueue(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster(imported))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig")}))
	h.event(t)
	assert.Equal(t, []string{key}, queued(), "the first look after a start")

	h.event(t)
	h.change(t, is(fleet.ClusterConditionImported, metav1.ConditionFalse, "Unreachable", now))
	h.event(t)
	h.change(t, func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(now) })
	h.event(t)
	assert.Empty(t, queued(), "a failed import and a check-in are no reason for another try")

	h.change(t, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now))
	h.event(t)
	assert.Equal(t, []string{key}, queued())

	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("another")}))
	h.event(t)
	assert.Equal(t, []string{key}, queued())

	h.tokens.Add(importToken())
	h.event(t)
	assert.Equal(t, []string{key}, queued(), "the token is there")
	h.secrets.Add(valuesOf(t, importToken(), "t"))
	h.event(t)
	assert.Equal(t, []string{key}, queued(), "its values are there")
}

// The handler of the cluster's client ID runs before, and passes on what it wrote.
func TestWhatTheCacheDoesNotShowYetIsLookedAtOnceItDoes(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Spec.ClientID, c.ResourceVersion = "", "7" }))
	written := cluster(func(c *fleet.Cluster) { c.ResourceVersion = "8" })
	_, err := h.onChange(key, written)
	require.NoError(t, err)
	assert.Empty(t, queued(), "the queue would look at a cluster without a client ID")

	h.clusters.Add(written)
	h.event(t)
	assert.Equal(t, []string{key}, queued())
}

// What was written last may show nothing that a decision rests on, so that its event brings nothing back, while an order that
// came just before it was put off.
func TestAnOrderThatCameBeforeWhatTheCacheDoesNotShowYetIsNotLost(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster(func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 }))
	h.event(t)
	assert.Equal(t, []string{key}, queued())
	h.clusters.Lag = true
	h.clusters.Add(h.cluster())
	h.recent.Wrote(h.cluster())

	require.NoError(t, h.work(t.Context(), key))
	saysImported := func() bool {
		return conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionImported) != nil
	}
	assert.False(t, saysImported(), "the cache is behind")
	h.clusters.Sync()
	h.event(t)
	require.Eventually(t, func() bool { return len(queued()) > 0 }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, h.work(t.Context(), key))
	assert.True(t, saysImported(), "that there is no kubeconfig")
}

// T06: the document is written again and again, with the same and with other keys that no agent depends on.
func TestAConfigurationThatChangesNothingForTheClusterFeedsNothing(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster(imported))
	h.event(t)
	queued()
	for range 50 {
		h.configure(t, nil)
		h.event(t)
		h.configure(t, map[string]any{"gitClientTimeout": "20s", "clusterOnDelete": "keep", "labels": map[string]string{"a": "b"}})
		h.event(t)
	}
	assert.Empty(t, queued())

	h.configure(t, map[string]any{"apiServerURL": "https://new.example.com"})
	h.event(t)
	assert.Equal(t, []string{key}, queued())
}

func TestAClusterThatGoesIsForgotten(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster())
	h.event(t)
	queued()

	h.change(t, func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} })
	h.event(t)

	assert.Empty(t, queued())
	assert.Empty(t, h.seen)
	got, err := h.onChange(key, nil)
	require.NoError(t, err)
	assert.Nil(t, got)
}

// Fifty workers and the handler run at the same time; the race detector looks on.
func TestManyEventsAtOnce(t *testing.T) {
	h, queued := fed(t)
	h.clusters.Add(cluster(imported))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig")}))
	c, err := h.clusters.Cache().Get(workspace, edge)
	require.NoError(t, err)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 50 {
				_, _ = h.onChange(key, c)
				if n == 0 {
					h.forget(key)
					h.recent.Wrote(c)
				}
				h.recent.IsBehind(c)
			}
		})
	}
	all.Wait()
	queued()
}
