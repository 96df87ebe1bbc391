package trust_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/certs"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// unknownAuthority is what Go says of a certificate that nobody whom it trusts has signed.
const unknownAuthority = "certificate signed by unknown authority"

// T01, T12: the hub gets a certificate of another CA from one moment to the next. What the hub can reach it heals, as soon
// as it is told of the CA; an agent that joined by itself says what it misses, and takes it when it comes. Nobody restarts.
func TestAgentsHealWhenTheHubGetsANewCA(t *testing.T) {
	b := ofTheBed(t)
	down := shim.RunTCP(t, b.edge.URL)
	online := b.manage(t, "online", nil)
	offline := b.manage(t, "offline", map[string][]byte{"value": b.kubeconfig(t, down.URL(), b.edge.CA())})
	alone := b.joinsByItself(t, "t01-alone")
	online.start(t)
	offline.start(t)
	onlineWas, offlineWas, aloneWas := online.joins(t), offline.joins(t), alone.joins(t)

	// The offline one is away before the change and comes back when all is over.
	stop(t, offline.agent)
	down.Refuse()
	changed := time.Now()
	require.NoError(t, b.front.SwapCA())
	for _, c := range []*cluster{online, alone} {
		c.says(t, "HubUnreachable", b.front.URL(), "x509", unknownAuthority)
		c.silentSince(t, changed)
	}

	b.configured(t, nil) // with the CA that the front has now
	online.joinsAgain(t, onlineWas)
	require.True(t, online.agent.Running(), "the agent heals without a restart of its process")

	require.NoError(t, down.Pass())
	offline.start(t)
	require.NoError(t, alone.edge.WriteBootstrap(t.Context(), alone.agents, alone.valuesWithCA(t, b.front.CA())))
	alone.joinsAgain(t, aloneWas)
	require.True(t, alone.agent.Running(), "the agent heals without a restart of its process")
	offline.joinsAgain(t, offlineWas)
}

// silentSince waits until the hub says that no heartbeat comes, and since when: about since a moment.
func (c *cluster) silentSince(t *testing.T, moment time.Time) {
	t.Helper()
	found, err := c.AwaitCluster(until(t), c.workspace, c.name, "silent", func(found *fleet.Cluster) bool {
		condition := stage.Condition(found.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return condition != nil && condition.Reason == "Silent"
	})
	require.NoError(t, err)
	message := stage.Condition(found.Status.Conditions, fleet.ClusterConditionAgentConnected).Message
	_, text, ok := strings.Cut(message, "no heartbeat since ")
	require.True(t, ok, message)
	text, _, _ = strings.Cut(text, ";")
	since, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	require.WithinRange(t, since, moment.Add(-time.Minute), moment.Add(time.Second), "the last heartbeat came before the change")
}

// valuesWithCA waits until the values of the cluster's token have a CA.
func (c *cluster) valuesWithCA(t *testing.T, ca []byte) map[string]any {
	t.Helper()
	var values map[string]any
	await(t, "the values of the token to have the new CA", func(ctx context.Context) (bool, string, error) {
		var err error
		values, err = c.TokenValues(ctx, c.workspace, "token")
		got, _ := values["apiServerCA"].(string)
		return strings.TrimSpace(got) == strings.TrimSpace(string(ca)), got, err
	})
	return values
}

// T01: who trusts both CAs beforehand does not notice when one follows the other.
func TestAgentsThatTrustBothCAsDoNotNoticeTheChange(t *testing.T) {
	b := ofTheBed(t)
	next, err := certs.NewAuthority("next")
	require.NoError(t, err)
	both := string(b.front.CA()) + string(next.Cert)
	imported, alone := b.manage(t, "both", nil), b.joinsByItself(t, "t01-both")
	imported.start(t)
	importedWas, aloneWas := imported.joins(t), alone.joins(t)

	b.configured(t, map[string]any{"apiServerCA": both})
	importedWas = imported.joinsAgain(t, importedWas)
	require.NoError(t, alone.edge.WriteBootstrap(t.Context(), alone.agents, alone.valuesWithCA(t, []byte(both))))
	aloneWas = alone.joinsAgain(t, aloneWas)

	was := map[*cluster]string{imported: imported.since(t), alone: alone.since(t)}
	require.NoError(t, b.front.Serve(next, certLife))
	for c := range was {
		c.beatsAfter(t, time.Now())
	}
	time.Sleep(window) // the window in which nothing may happen: the grace is three heartbeats
	require.Equal(t, importedWas, imported.registration(t))
	require.Equal(t, aloneWas, alone.registration(t))
	for c, since := range was {
		require.Equal(t, since, c.since(t), "%s was not silent for a moment", c.name)
	}

	b.configure(t, nil) // the new CA alone
	imported.joinsAgain(t, importedWas)
	alone.beatsAfter(t, time.Now())
	require.Equal(t, aloneWas, alone.registration(t), "it keeps the bundle that it has until somebody gives it another")
}

// since is when a cluster became connected.
func (c *cluster) since(t *testing.T) string {
	t.Helper()
	return stage.Condition(c.connected(t).Status.Conditions, fleet.ClusterConditionAgentConnected).LastTransitionTime
}

// beatsAfter waits for a heartbeat after a moment.
func (c *cluster) beatsAfter(t *testing.T, moment time.Time) {
	t.Helper()
	namespace := c.connected(t).Status.Namespace
	await(t, "a heartbeat of "+c.name, func(ctx context.Context) (bool, string, error) {
		lease, err := c.Hub.Kube.CoordinationV1().Leases(namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil || lease.Spec.RenewTime == nil {
			return false, "none", err
		}
		return lease.Spec.RenewTime.After(moment), fmt.Sprint(lease.Spec.RenewTime), nil
	})
}
