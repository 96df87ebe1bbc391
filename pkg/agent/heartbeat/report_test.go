package heartbeat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/codegen/crdfacts"
	"github.com/rancher/fleet/pkg/registration"
)

// A report that the server refuses would make the agent look silent.
func TestAReportIsNoLongerThanTheServerTakes(t *testing.T) {
	facts, err := crdfacts.All()
	require.NoError(t, err)
	bound := fmt.Sprintf("maxLength=%d", registration.MaxAgentText)
	bounded := 0
	for _, fact := range facts["Cluster"] {
		if fact.Path == "status.agent.version" || fact.Path == "status.agent.generation" {
			assert.True(t, fact.Has(bound), fact.Path)
			bounded++
		}
	}
	require.Equal(t, 2, bounded)

	h := hubtest.New(t, hubtest.Options{})
	long := strings.Repeat("x", 3*registration.MaxAgentText)
	a := start(t, h, func(o *Options) { o.Version, o.Generation = "v"+long, "g"+long })
	a.idle()
	var cluster fleet.Cluster
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	assert.Equal(t, "v"+long[:registration.MaxAgentText-1], cluster.Status.Agent.Version)
	assert.Equal(t, "g"+long[:registration.MaxAgentText-1], cluster.Status.Agent.Generation)
}

// The hub gives the right to report while the agent takes its first steps.
func TestARightThatComesAMomentLaterIsNoTrouble(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Guard("not yet", func(c apitest.Call) int {
		if c.On("patch", hubtest.Clusters) {
			return http.StatusForbidden
		}
		return 0
	})
	a := start(t, h, unchanged)
	a.held = true
	a.pass(settlingRetry)
	assert.Len(t, a.reports(), 2)
	h.Guard("not yet", nil)
	a.pass(settlingRetry)
	assert.Len(t, a.reports(), 3)
	a.pass(settling)
	assert.Len(t, a.reports(), 3, "it has reported")
}

func TestARightThatNeverComesIsTroubleLikeAnyOther(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Guard("never", func(c apitest.Call) int {
		if c.On("patch", hubtest.Clusters) {
			return http.StatusForbidden
		}
		return 0
	})
	a := start(t, h, unchanged)
	a.held = true
	a.pass(settling)
	tried := len(a.reports())
	a.pass(settlingRetry)
	assert.Len(t, a.reports(), tried, "the pauses are those of a failure now")
	a.pass(firstRetry)
	assert.Len(t, a.reports(), tried+1)
}

// The hub writes into the same status once it sees the beat.
func TestTheFirstReportGoesAheadOfTheFirstBeat(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	a.idle()
	calls := h.Calls(func(c apitest.Call) bool { return c.On("patch", hubtest.Clusters) || onLease(c) })
	require.NotEmpty(t, calls)
	assert.True(t, calls[0].On("patch", hubtest.Clusters))
	assert.Equal(t, 1, a.beats())
}

func TestAReportThatDoesNotGoThroughHoldsNoBeatForLong(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Guard("not yet", func(c apitest.Call) int {
		if c.On("patch", hubtest.Clusters) {
			return http.StatusForbidden
		}
		return 0
	})
	a := start(t, h, unchanged)
	a.held = true
	a.idle()
	assert.Zero(t, a.beats())
	a.pass(headStart)
	require.Eventually(t, func() bool { return a.beats() == 1 }, soon, time.Millisecond)
}

func TestTheReportSaysWhatTheAgentIs(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	cluster := &fleet.Cluster{}
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, cluster))
	cluster.Status.Namespace = hubtest.Namespace
	h.Put(hubtest.Clusters, cluster)
	a := start(t, h, unchanged)
	a.idle()
	require.Len(t, a.reports(), 1)
	call := a.reports()[0]
	assert.Equal(t, "application/json-patch+json", call.ContentType)
	assert.Equal(t, "status", call.Subresource)
	var patch []map[string]any
	require.NoError(t, json.Unmarshal(call.Body, &patch))
	assert.Equal(t, []map[string]any{{"op": "add", "path": "/status/agent", "value": map[string]any{
		"lastSeen": a.clock.Now().UTC().Format(time.RFC3339), "namespace": "cattle-fleet-system", "version": "v1.2.3", "generation": "abc",
	}}}, patch)
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, cluster))
	assert.Equal(t, "v1.2.3", cluster.Status.Agent.Version)
	assert.Equal(t, hubtest.Namespace, cluster.Status.Namespace)
}

func TestAClusterWithoutAStatusIsReportedAllTheSame(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Put(hubtest.Clusters, bare{Metadata: map[string]any{"namespace": hubtest.Workspace, "name": hubtest.Cluster}}.object())
	a := start(t, h, unchanged)
	a.idle()
	var cluster fleet.Cluster
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	assert.Equal(t, "cattle-fleet-system", cluster.Status.Agent.Namespace)
	assert.Len(t, a.reports(), 2)
}

// bare is a Cluster as somebody writes it, without a status.
type bare struct {
	Metadata map[string]any `json:"metadata"`
}

func (b bare) object() *bare { return &b }

// What is in the way of a new pod is not to wait for the next check-in.
func TestWhatIsInTheWayOfAnUpgradeIsReportedAtOnce(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	changed := make(chan struct{}, 1)
	var upgrade atomic.Pointer[fleet.AgentUpgradeStatus]
	a := start(t, h, func(o *Options) { o.Upgrade, o.UpgradeChanged = upgrade.Load, changed })
	a.idle()
	reported := func() *fleet.AgentUpgradeStatus {
		var cluster fleet.Cluster
		require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
		return cluster.Status.Agent.Upgrade
	}
	assert.Nil(t, reported())
	for _, status := range []*fleet.AgentUpgradeStatus{{Reason: "CrashLoop", Message: "ended 3 times"}, nil} {
		upgrade.Store(status)
		changed <- struct{}{}
		require.Eventually(t, func() bool { return assert.ObjectsAreEqual(status, reported()) }, soon, time.Millisecond)
	}
}

// What is left of the bundles of a Cluster that is being deleted is not to wait for the next check-in: the hub waits for it.
func TestWhoLeavesReportsUntilNothingIsLeft(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	var cluster fleet.Cluster
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	deleted := metav1.Now()
	cluster.DeletionTimestamp = &deleted
	h.Put(hubtest.Clusters, &cluster)
	var bundles atomic.Pointer[fleet.AgentBundles]
	changed := make(chan struct{}, 1)
	a := start(t, h, func(o *Options) {
		o.Bundles, o.BundlesChanged = func(context.Context) *fleet.AgentBundles { return bundles.Load() }, changed
	})
	a.idle()
	require.Len(t, a.reports(), 1)
	a.pass(leavingFirst)
	require.Len(t, a.reports(), 2, "it does not know yet")
	bundles.Store(&fleet.AgentBundles{Count: 1, Removing: []string{"app"}})
	a.pass(2 * leavingFirst)
	require.Len(t, a.reports(), 3)
	a.pass(2 * leavingFirst)
	require.Len(t, a.reports(), 3, "the pauses grow")

	bundles.Store(&fleet.AgentBundles{})
	changed <- struct{}{}
	require.Eventually(t, func() bool { return len(a.reports()) == 4 }, soon, time.Millisecond)
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	assert.Equal(t, &fleet.AgentBundles{}, cluster.Status.Agent.Bundles)
	a.pass(10 * leavingMost)
	assert.Len(t, a.reports(), 4, "it has said all")
}

func TestWhoStaysReportsItsBundlesWithTheCheckIn(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, func(o *Options) {
		o.Bundles = func(context.Context) *fleet.AgentBundles { return &fleet.AgentBundles{Count: 3} }
	})
	a.pass(14 * time.Minute)
	assert.Len(t, a.reports(), 1)
	a.pass(2 * time.Minute)
	assert.Len(t, a.reports(), 2)
}
