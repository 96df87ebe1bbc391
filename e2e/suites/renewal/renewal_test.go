package renewal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// joined is a cluster with its agent, before the renewal.
type joined struct {
	name    string
	agent   *proc.Process
	cluster *fleet.Cluster
	digest  string
	token   string
}

// R23 and attack 10: an agent of each way of joining whose credential comes to its end goes on with another, in the same
// process, with the same registration. A full run waits until the old token is good for nothing, three minutes more.
func TestAgentsOutliveTheirFirstCredential(t *testing.T) {
	hub, edge := stage.HubAndEdge(t)
	hub.ExplainFailure(t)
	require.NoError(t, hub.InstallHub(stage.Until(t, patience), map[string]any{
		"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false, "namespace": ""},
		"agentCredential": map[string]any{"lifetime": life.String(), "agentInitiatedLifetime": life.String()},
	}))
	_, err := hub.StartController(stage.Until(t, patience))
	require.NoError(t, err)
	b := bed{hub, edge}
	all := []*joined{b.byManager(t), b.byToken(t)}
	for _, j := range all {
		b.remember(t, j)
	}

	for _, j := range all {
		b.awaitRenewal(t, j)
	}
	for _, j := range all[:stage.Reduced(t, "first credentials whose end is waited for:", 0, len(all))] {
		b.awaitEnd(t, j)
	}
	for _, j := range all {
		require.True(t, j.agent.Running(), "%s: the same process", j.name)
		requests, err := stage.List[fleet.ClusterRegistration](t.Context(), hub.Hub, stage.Registrations, stage.Workspace)
		require.NoError(t, err)
		require.Len(t, requests, len(all), "no other registration")
		now, err := hub.AwaitConnected(stage.Until(t, patience), stage.Workspace, j.name)
		require.NoError(t, err)
		require.True(t, stage.IsTrue(now.Status.Conditions, fleet.ClusterConditionCredentialValid), stage.Conditions(now.Status.Conditions))
	}
}

// bundleDeployments are what an agent reads of its hub.
var bundleDeployments = fleet.SchemeGroupVersion.WithResource("bundledeployments")

type bed struct {
	*stage.Stage
	edge *stage.Cluster
}

const managersAgents = "managed-system"

func (b bed) byManager(t *testing.T) *joined {
	t.Helper()
	require.NoError(t, b.EnsureNamespace(t.Context(), stage.Workspace))
	secret, err := stage.KubeconfigSecret(b.edge, stage.Workspace, "kubeconfig")
	require.NoError(t, err)
	_, err = b.Hub.Kube.CoreV1().Secrets(stage.Workspace).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.Workspace, Name: "managed"},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: secret.Name, AgentNamespace: managersAgents},
	}))
	return b.join(t, "managed", managersAgents)
}

func (b bed) byToken(t *testing.T) *joined {
	t.Helper()
	values, err := b.NewToken(stage.Until(t, patience), stage.Workspace, "token", fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, ClusterName: "alone",
	})
	require.NoError(t, err)
	require.NoError(t, b.JoinByAgent(stage.Until(t, patience), b.edge, values, map[string]any{"agentHeartbeatInterval": heartbeat}))
	return b.join(t, "alone", stage.SystemNamespace)
}

// join runs the agent, and waits until its credential is in use.
func (b bed) join(t *testing.T, name, namespace string) *joined {
	t.Helper()
	agent, err := b.StartAgent(stage.Until(t, patience), b.edge, namespace, "agent-"+name)
	require.NoError(t, err)
	agent.EndWithTest(t)
	_, err = b.AwaitConnected(stage.Until(t, patience), stage.Workspace, name)
	require.NoError(t, err)
	cluster, err := b.AwaitCluster(stage.Until(t, patience), stage.Workspace, name, "its credential", func(c *fleet.Cluster) bool {
		return c.Status.Credential != nil && c.Status.Credential.Expires != nil
	})
	require.NoError(t, err)
	secret, err := b.edge.Kube.CoreV1().Secrets(namespace).Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	require.NoError(t, err)
	stored, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[registration.KeyKubeconfig])
	require.NoError(t, err)
	return &joined{name: name, agent: agent, cluster: cluster, token: stored.BearerToken}
}

func (b bed) remember(t *testing.T, j *joined) {
	t.Helper()
	j.digest = b.shown(t.Context(), t, j)
	require.Equal(t, registration.Digest(j.token), j.digest, "%s shows the credential that it stores", j.name)
	ends := j.cluster.Status.Credential.Expires.Time
	require.WithinDuration(t, j.cluster.CreationTimestamp.Add(life), ends, patience)
}

// shown is the digest of the credential that an agent shows in its Lease.
func (b bed) shown(ctx context.Context, t *testing.T, j *joined) string {
	t.Helper()
	lease, err := b.Hub.Kube.CoordinationV1().Leases(j.cluster.Status.Namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, lease.Spec.HolderIdentity)
	holder, ok := registration.ParseHolder(*lease.Spec.HolderIdentity)
	require.True(t, ok, *lease.Spec.HolderIdentity)
	return holder.Digest
}

// awaitRenewal waits until an agent uses another credential and what carried it is gone: at two thirds of the life.
func (b bed) awaitRenewal(t *testing.T, j *joined) {
	t.Helper()
	stage.AwaitWithin(t, life+patience, j.name+" to use another credential", func(ctx context.Context) (bool, string, error) {
		now := b.shown(ctx, t, j)
		_, err := b.Hub.Kube.CoreV1().Secrets(j.cluster.Status.Namespace).Get(ctx, names.RenewedCredentialSecret, metav1.GetOptions{})
		return now != j.digest && apierrors.IsNotFound(err), fmt.Sprintf("it shows %s; Secret: %v", now, err), nil
	})
	require.True(t, time.Now().Before(j.cluster.Status.Credential.Expires.Time), "%s: before the first one ends", j.name)
	_, err := b.AwaitCluster(stage.Until(t, patience), stage.Workspace, j.name, "a later end", func(c *fleet.Cluster) bool {
		return c.Status.Credential.Expires.After(j.cluster.Status.Credential.Expires.Time)
	})
	require.NoError(t, err)
}

// awaitEnd waits until the API server takes the first credential no more.
func (b bed) awaitEnd(t *testing.T, j *joined) {
	t.Helper()
	old, err := b.Hub.AsToken("the first credential of "+j.name, j.token)
	require.NoError(t, err)
	stage.AwaitWithin(t, life+patience, "the end of the first credential of "+j.name, func(ctx context.Context) (bool, string, error) {
		_, err := old.Dynamic.Resource(bundleDeployments).Namespace(j.cluster.Status.Namespace).List(ctx, metav1.ListOptions{})
		return apierrors.IsUnauthorized(err), fmt.Sprint(err), nil
	})
}
