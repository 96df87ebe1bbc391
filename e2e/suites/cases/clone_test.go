package cases

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// beat renews the heartbeat's Lease once, as the holder that is given.
func beat(t *testing.T, hub *stage.Cluster, namespace string, holder registration.Holder) {
	t.Helper()
	await(t, "a heartbeat of "+holder.Instance, func(ctx context.Context) (bool, string, error) {
		leases := hub.Kube.CoordinationV1().Leases(namespace)
		lease, err := leases.Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil {
			return false, "", nil // the authorizer learns of new rights by a watch
		}
		text, now := holder.String(), metav1.NowMicro()
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = &text, &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err == nil, "", nil
	})
}

// Two agents with one credential are held, and nothing is taken from either, until a person has looked.
func TestACopiedAgentIsNoticedAndGivenNothingNew(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	agent := b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	namespace := b.cluster(t, p, "edge").Status.Namespace
	hub, token := b.stolen(t, p)
	lease, err := b.Hub.Kube.CoordinationV1().Leases(namespace).Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
	require.NoError(t, err)
	shown, ok := registration.ParseHolder(*lease.Spec.HolderIdentity)
	require.True(t, ok)
	copied := registration.Holder{Instance: "copy-0", Fingerprint: shown.Fingerprint, Digest: registration.Digest(token)}

	// The agent beats every two seconds.
	ctx := until(t)
	await(t, "a suspicion", func(context.Context) (bool, string, error) {
		if now, err := b.Hub.Kube.CoordinationV1().Leases(namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{}); err != nil || *now.Spec.HolderIdentity != copied.String() {
			beat(t, hub, namespace, copied)
		}
		c := b.cluster(t, p, "edge")
		connected := stage.Condition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return connected != nil && connected.Reason == registration.ReasonCloneSuspected, stage.Conditions(c.Status.Conditions), ctx.Err()
	})
	require.True(t, agent.Running())
	require.True(t, stage.Connected(b.cluster(t, p, "edge")), "nothing heals what is connected")
	b.deliver(t, p, "held", "edge")
	time.Sleep(window) // the window in which nothing may be given
	bd, err := stage.Get[fleet.BundleDeployment](t.Context(), b.Hub, deployments, namespace, "held")
	require.NoError(t, err)
	require.Nil(t, bd)
	bundle, err := stage.Get[fleet.Bundle](t.Context(), b.Hub, stage.Bundles, p.workspace, "held")
	require.NoError(t, err)
	require.Contains(t, stage.Conditions(bundle.Status.Conditions), "fleet cluster approve")
	_, err = hub.Kube.CoordinationV1().Leases(namespace).Get(t.Context(), names.HeartbeatLease, metav1.GetOptions{})
	require.NoError(t, err, "nothing is revoked")

	b.fleet(t, "cluster", "approve", "edge", "-n", p.workspace)
	b.awaitDeployment(t, namespace, "held")
	await(t, "the word of the suspicion to go", func(context.Context) (bool, string, error) {
		c := b.cluster(t, p, "edge")
		connected := stage.Condition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return connected != nil && connected.Reason == "Heartbeat", stage.Conditions(c.Status.Conditions), nil
	})
}

// An agent that was registered without a key, and has been given one since, is known by it from then on.
func TestAClusterIsPinnedToTheKeyThatItsAgentGains(t *testing.T) {
	const fingerprint = "0123456789abcdef0123456789abcdef"
	b, p := shared(t), newPlace()
	b.workspace(t, p.workspace)
	values, err := b.NewToken(until(t), p.workspace, "keyless", ttl(time.Hour))
	require.NoError(t, err)
	name := b.asks(t, p, "client-without-key", "keyless", values)
	b.says(t, p, name, fleet.RegistrationConditionCredentialReady, "Ready")
	request, err := stage.Get[fleet.ClusterRegistration](t.Context(), b.Hub, stage.Registrations, p.workspace, name)
	require.NoError(t, err)
	secret, err := b.Hub.Kube.CoreV1().Secrets(stage.RegistrationNamespace).Get(t.Context(),
		names.CredentialSecret(request.Spec.ClientID, request.Spec.ClientRandom), metav1.GetOptions{})
	require.NoError(t, err)
	token := string(secret.Data["token"])
	hub, err := b.Hub.AsToken("agent", token)
	require.NoError(t, err)
	namespace := string(secret.Data["deploymentNamespace"])
	cluster := request.Status.ClusterName

	without := registration.Holder{Instance: "agent-0", Digest: registration.Digest(token)}
	beat(t, hub, namespace, without)
	await(t, "the cluster to be connected", func(context.Context) (bool, string, error) {
		beat(t, hub, namespace, without)
		c := b.cluster(t, p, cluster)
		return stage.Connected(c), stage.Conditions(c.Status.Conditions), nil
	})
	require.Empty(t, b.cluster(t, p, cluster).Annotations[names.IdentityAnnotation])

	with := without
	with.Instance, with.Fingerprint = "agent-1", fingerprint
	beat(t, hub, namespace, with)
	await(t, "the cluster to be bound", func(context.Context) (bool, string, error) {
		pin, err := registration.PinOf(b.cluster(t, p, cluster).Annotations)
		return err == nil && pin != nil && pin.Fingerprint == fingerprint, "", err
	})
	other := b.asks(t, p, "client-without-key", "keyless", values)
	b.says(t, p, other, fleet.RegistrationConditionGranted, "IdentityConflict")
}

// One cluster behind two Clusters is shown on both, and none of them is removed.
func TestOneClusterBehindTwoClustersIsShownOnBoth(t *testing.T) {
	b, one, two := shared(t), newPlace(), newPlace()
	b.manage(t, one, "first")
	b.manage(t, two, "second")
	shows := func(p place, name string) {
		await(t, "Cluster "+name+" to show that it is not alone", func(context.Context) (bool, string, error) {
			c := b.cluster(t, p, name)
			unique := stage.Condition(c.Status.Conditions, fleet.ClusterConditionUnique)
			return unique != nil && unique.Reason == "SharedCluster", stage.Conditions(c.Status.Conditions), nil
		})
	}
	shows(one, "first")
	shows(two, "second")
	await(t, "both to be imported all the same", func(context.Context) (bool, string, error) {
		a, c := b.cluster(t, one, "first"), b.cluster(t, two, "second")
		return stage.IsTrue(a.Status.Conditions, fleet.ClusterConditionImported) && stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionImported),
			stage.Conditions(a.Status.Conditions) + stage.Conditions(c.Status.Conditions), nil
	})
}
