package cases

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// R10: several agents start at once; one registers.
func TestOfSeveralAgentsThatStartAtOnceOneRegisters(t *testing.T) {
	b := shared(t)
	for round := range times(t, 3, 50) {
		p := newPlace()
		b.manage(t, p, "edge")
		for i := range 3 {
			b.agent(t, p, fmt.Sprintf("agent-%d", i))
		}
		b.connected(t, p, "edge")
		requests := b.requests(t, p.workspace)
		require.Len(t, requests, 1, "round %d: %s", round, describe(requests))
		accounts, err := b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		valid := 0
		for _, account := range accounts.Items {
			if account.Annotations[names.ClusterNamespaceAnnotation] == p.workspace {
				valid++
			}
		}
		require.Equal(t, 1, valid, "round %d: request accounts", round)
	}
}

// R11: the standby is passive; when the leader is killed it goes on with the credential that is stored.
func TestANewLeaderUsesTheStoredCredential(t *testing.T) {
	// As in production, an agent's grace is longer than its lease: else the hub would heal what heals itself.
	b, p := own(t, map[string]any{"agentHeartbeatInterval": "10s"}), newPlace()
	b.manage(t, p, "edge")
	first := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	b.agent(t, p, "agent-1")
	before := b.requests(t, p.workspace)
	require.Len(t, before, 1)
	lease := b.heartbeat(t, p)
	require.Contains(t, lease, "agent-0/")

	require.NoError(t, first.Kill())
	started := time.Now()
	await(t, "a heartbeat of the other agent", func(ctx context.Context) (bool, string, error) {
		holder := b.heartbeat(t, p)
		return holder != lease, holder, nil
	})
	t.Logf("taken over after %s", time.Since(started).Round(time.Millisecond))
	require.Contains(t, b.heartbeat(t, p), "agent-1/")
	require.Equal(t, digest(lease), digest(b.heartbeat(t, p)), "another credential")
	after := b.requests(t, p.workspace)
	require.Len(t, after, 1)
	require.Equal(t, before[0].UID, after[0].UID)
}

// heartbeat is the holder of a cluster's Lease.
func (b *bed) heartbeat(t *testing.T, p place) string {
	t.Helper()
	cluster, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, p.workspace, "edge")
	require.NoError(t, err)
	lease, err := b.Hub.Kube.CoordinationV1().Leases(cluster.Status.Namespace).Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
	require.NoError(t, err)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// digest is the part of a holder that names the credential.
func digest(holder string) string {
	for i := len(holder) - 1; i >= 0; i-- {
		if holder[i] == '/' {
			return holder[i+1:]
		}
	}
	return holder
}

// A18: an agent that is asked to end does so cleanly and lets go of its lease, so that the next one starts at once.
func TestAnAgentThatIsStoppedReleasesItsLease(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	agent := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	requireCleanExit(t, agent)
	lease, err := b.edge.Kube.CoordinationV1().Leases(p.agents).Get(t.Context(), names.AgentElectionLease, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, *lease.Spec.HolderIdentity)
}

func requireCleanExit(t *testing.T, p *proc.Process) {
	t.Helper()
	code, err := p.Stop(grace)
	require.NoError(t, err)
	require.Zero(t, code, p.Tail(20))
}
