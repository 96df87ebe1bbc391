package permissions_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// bed is a hub with a cluster that it has imported. Hub and agent log all that they can.
type bed struct {
	*stage.Stage
	edge         *stage.Cluster
	hubMetrics   string
	agentMetrics string
}

var shared stage.SharedBed[bed]

func ofTheBed(t *testing.T) *bed {
	t.Helper()
	b := shared.Of(t, func() *bed { return raise(t) })
	b.ExplainFailure(t)
	return b
}

func raise(t *testing.T) *bed {
	t.Helper()
	hub, downstream := stage.HubAndEdge(t)
	b := &bed{Stage: hub, edge: downstream, hubMetrics: stage.FreeAddress(t), agentMetrics: stage.FreeAddress(t)}
	b.Env = append(stage.Election(60*time.Second, 50*time.Second, time.Second),
		"FLEET_METRICS_BIND_ADDRESS="+b.hubMetrics, "FLEET_AGENT_METRICS_BIND_ADDRESS="+b.agentMetrics,
		"HTTPS_PROXY=http://somebody:"+ownProxy+"@127.0.0.1:9") // loopback addresses need no proxy
	ctx := stage.Until(t, 2*patience)
	require.NoError(t, b.InstallHub(ctx, map[string]any{"agentHeartbeatInterval": heartbeat, "debug": true, "debugLevel": 9}))
	_, err := b.StartController(ctx)
	require.NoError(t, err)
	_, err = b.RunPods(ctx, b.edge)
	require.NoError(t, err)
	require.NoError(t, b.JoinByManager(ctx, b.edge, stage.Workspace, edge, nil))
	_, err = b.AwaitConnected(ctx, stage.Workspace, edge)
	require.NoError(t, err)
	return b
}

// newToken makes a registration token of the common workspace.
func (b *bed) newToken(t *testing.T, name string, spec fleet.ClusterRegistrationTokenSpec) (jwt string) {
	t.Helper()
	spec.TTL = &metav1.Duration{Duration: time.Hour}
	values, err := b.NewToken(stage.Until(t, patience), stage.Workspace, name, spec)
	require.NoError(t, err)
	return values["token"].(string)
}

// accountOf is the name of a registration token's import account.
func (b *bed) accountOf(t *testing.T, tokenName string) string {
	t.Helper()
	token, err := stage.Get[fleet.ClusterRegistrationToken](t.Context(), b.Hub, stage.Tokens, stage.Workspace, tokenName)
	require.NoError(t, err)
	require.NotNil(t, token)
	return names.Account(tokenName, string(token.UID))
}

// applicant plays an agent of the common workspace that has a registration token.
func (b *bed) applicant(t *testing.T, tokenName, jwt, clientID string) *stage.Applicant {
	t.Helper()
	a, err := b.NewApplicant(stage.Workspace, tokenName, jwt, clientID)
	require.NoError(t, err)
	return a
}

// requestOf is the registration request of a cluster, of which there is one.
func (b *bed) requestOf(ctx context.Context, t *testing.T, cluster string) fleet.ClusterRegistration {
	t.Helper()
	all, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, stage.Workspace)
	require.NoError(t, err)
	for _, r := range all {
		if r.Status.ClusterName == cluster {
			return r
		}
	}
	require.Fail(t, "no request of cluster "+cluster)
	return fleet.ClusterRegistration{}
}
