package telemetry

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	granted = fleet.RegistrationConditionGranted
	used    = fleet.RegistrationConditionCredentialUsed
)

func of(key, value string) map[string]string { return map[string]string{key: value} }

func TestAJoinIsToldCountedAndMeasured(t *testing.T) {
	h := newHub()
	h.start(t)
	h.clusters.Add(cluster("edge", isFalse(fleet.ClusterConditionRegistered, "WaitingForAgent")))
	h.requests.Add(request("r"))
	h.counts(t, 1, "fleet_registration_ungranted_requests", of("reason", "Unanswered"))

	h.requests.Modify(request("r", isTrue(granted, "Granted")))
	h.becomes(t, 1, "fleet_registration_grant_duration_seconds", nil)
	h.requests.Modify(request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed")))
	h.clusters.Modify(cluster("edge", isTrue(fleet.ClusterConditionRegistered, "CredentialUsed"), isTrue(fleet.ClusterConditionAgentConnected, "Heartbeat")))

	h.becomes(t, 1, "fleet_registration_use_duration_seconds", nil)
	h.becomes(t, 1, "fleet_registration_join_duration_seconds", nil)
	h.becomes(t, 1, "fleet_registration_handshakes_total", of("result", "granted"))
	h.becomes(t, 1, "fleet_registration_handshakes_total", of("result", "used"))
	want := []string{"Normal Granted ClusterRegistration/r", "Normal Registered Cluster/edge"}
	require.Eventually(t, func() bool { return len(h.events(t)) == len(want) }, soon, tick)
	assert.ElementsMatch(t, want, words(h.events(t)))
	event := h.events(t)[slices.Index(words(h.events(t)), want[1])]
	assert.Equal(t, "uid-of-edge", string(event.InvolvedObject.UID))
	assert.Equal(t, "fleet-controller", event.Source.Component)
	assert.Equal(t, workspace, event.Namespace)

	h.counts(t, 1, "fleet_clusters", map[string]string{"state": "Connected", "joined_by": "agent"})
	h.clusters.Delete(cluster("edge"))
	h.requests.Delete(request("r"))
	h.counts(t, 0, "fleet_clusters", map[string]string{"state": "Connected", "joined_by": "agent"})
}

func TestWhatStoodThereAtTheStartIsNoNews(t *testing.T) {
	h := newHub()
	h.clusters.Add(cluster("edge", isTrue(fleet.ClusterConditionRegistered, "CredentialUsed"), isFalse(fleet.ClusterConditionAgentConnected, "Silent")))
	h.requests.Add(request("r", isTrue(granted, "Granted")))
	h.requests.Add(request("refused", isFalse(granted, "TokenUnknown")))
	h.tokens.Add(token("t", isFalse(fleet.TokenConditionReady, "SecretConflict")))
	h.leases.Add(lease(began))
	h.start(t)
	// What comes after the first list is told: so long nothing of the first list was.
	h.clusters.Modify(cluster("edge", isTrue(fleet.ClusterConditionRegistered, "CredentialUsed"), isTrue(fleet.ClusterConditionAgentConnected, "Heartbeat")))
	require.Eventually(t, func() bool { return len(h.events(t)) > 0 }, soon, tick)
	h.requests.Modify(request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed")))
	h.becomes(t, 1, "fleet_registration_handshakes_total", of("result", "used"))

	assert.Equal(t, []string{"Normal AgentConnected Cluster/edge"}, words(h.events(t)))
	h.becomes(t, 0, "fleet_registration_handshakes_total", of("result", "granted"))
	h.becomes(t, 0, "fleet_registration_join_duration_seconds", nil)
	h.becomes(t, 0, "fleet_cluster_heartbeats_total", nil)
	h.counts(t, 1, "fleet_registration_tokens", of("state", "Failing"))
}

// Issue: who approved what is kept in an event. A hub that was not running tells it when it starts, and once.
func TestADecisionIsToldOnceWhateverRestarts(t *testing.T) {
	h := newHub()
	h.clusters.Add(cluster("edge"))
	r := request("r", isFalse(granted, "WaitingForApproval"))
	r.Status.Approval = approval("approve", "jane", "ours", began.Add(-time.Minute))
	h.requests.Add(r)
	stop := h.start(t)
	told := func() bool { return len(h.events(t)) == 2 }
	require.Eventually(t, told, soon, tick)
	assert.ElementsMatch(t, []string{"Normal Approved ClusterRegistration/r", "Normal Approved Cluster/edge"}, words(h.events(t)))
	stop()

	again := newHub()
	again.clients = h.clients
	again.clusters.Add(cluster("edge"))
	again.requests.Add(r)
	again.start(t)
	creates := func() (n int) {
		for _, a := range h.clients.Actions() {
			if a.Matches("create", "events") {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return creates() == 4 }, soon, tick, "the second hub tries as well")
	assert.True(t, told(), "and finds them there")
}

// A01: what failed is made good.
func TestADecisionThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	h := newHub()
	failures := 2
	h.clients.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failures > 0 {
			failures--
			return true, nil, apierrors.NewInternalError(fmt.Errorf("no"))
		}
		return false, nil, nil
	})
	h.start(t)
	r := unmatched(request("r"))
	r.Status.Approval = approval("deny", "jane", "unknown", began)
	h.requests.Add(r)
	require.Eventually(t, func() bool { return len(h.events(t)) == 1 }, soon, tick)
	assert.Equal(t, "Request r was denied by jane: unknown", h.events(t)[0].Message)
}

func TestADecisionWaitsForTheClusterInTheCache(t *testing.T) {
	h := newHub()
	h.start(t)
	r := request("r")
	r.Status.Approval = approval("approve", "jane", "", began)
	h.requests.Add(r)
	require.Eventually(t, func() bool { return len(h.events(t)) == 1 }, soon, tick)
	h.clusters.Add(cluster("edge"))
	require.Eventually(t, func() bool { return len(h.events(t)) == 2 }, soon, tick)
	assert.Contains(t, words(h.events(t)), "Normal Approved Cluster/edge")
}

func TestRenewalsOfAgentsAreCounted(t *testing.T) {
	h := newHub()
	h.leases.Add(lease(began))
	h.start(t)
	for i := range 5 {
		h.leases.Modify(lease(began.Add(time.Duration(i) * time.Minute))) // the first changes nothing
	}
	election := lease(began)
	election.Namespace, election.Annotations = "cattle-fleet-system", nil
	h.leases.Add(election)
	election = election.DeepCopy()
	election.Spec.RenewTime = &metav1.MicroTime{Time: began.Add(time.Hour)}
	h.leases.Modify(election)
	last := lease(began.Add(5 * time.Minute))
	h.leases.Modify(last)
	h.becomes(t, 5, "fleet_cluster_heartbeats_total", nil)
}

func lease(renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "cluster-fleet-default-edge", Name: names.HeartbeatLease, UID: "uid-of-lease",
			Annotations: map[string]string{names.ClusterAnnotation: "edge"},
		},
		Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}},
	}
}

// A storm costs no more Events than the bounds allow, and is counted all the same.
func TestAStormIsCountedAndToldInBounds(t *testing.T) {
	h := newHub()
	h.start(t)
	const storm, share = 1000, 25 // half of what is told of all namespaces
	for i := range storm {
		h.requests.Add(request(fmt.Sprintf("r-%d", i), isFalse(granted, "TokenUnknown")))
	}
	h.becomes(t, storm, "fleet_registration_refusals_total", of("reason", "TokenUnknown"))
	h.becomes(t, storm-share, "fleet_events_dropped_total", of("type", "Warning"))
	require.Eventually(t, func() bool { return len(h.events(t)) == share }, soon, tick)

	// One that is normal has room beside them, and so has a decision.
	h.requests.Modify(request("r-0", isTrue(granted, "Granted")))
	denied := request("r-1", isFalse(granted, "TokenUnknown"))
	denied.Status.Approval = approval("deny", "jane", "", began)
	h.requests.Modify(unmatched(denied))
	require.Eventually(t, func() bool { return len(h.events(t)) == share+2 }, soon, tick)
}

// An agent can write its Cluster's status. One that does so without end leaves room for the others.
func TestAnObjectThatNeverRestsDoesNotSilenceOthers(t *testing.T) {
	h := newHub()
	h.clusters.Add(cluster("edge"))
	h.start(t)
	for i := range 200 {
		h.clusters.Modify(cluster("edge", isFalse(fleet.ClusterConditionImported, fmt.Sprintf("Reason%d", i))))
	}
	h.becomes(t, 200, "fleet_cluster_imports_total", of("result", "other"))
	h.clusters.Add(cluster("other", isFalse(fleet.ClusterConditionImported, "Unreachable")))
	require.Eventually(t, func() bool { return slices.Contains(words(h.events(t)), "Warning Unreachable Cluster/other") }, soon, tick)
	of := 0
	for _, e := range h.events(t) {
		if e.InvolvedObject.Name == "edge" {
			of++
		}
	}
	assert.LessOrEqual(t, of, 10)
	assert.Equal(t, corev1.EventTypeWarning, h.events(t)[0].Type)
}

// The figures of a hub that leads no longer are not those of the next.
func TestFiguresGoWithTheLead(t *testing.T) {
	h := newHub()
	stop := h.start(t)
	h.becomes(t, 0, "fleet_cluster_heartbeats_total", nil)
	stop()
	require.Eventually(t, func() bool { families, err := h.registry.Gather(); return err == nil && len(families) == 0 }, soon, tick)
	_, err := NewMetrics(h.registry)
	require.NoError(t, err)
	_, err = NewMetrics(h.registry)
	assert.Error(t, err, "two hubs in one process")
}
