package registration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// moves is the workspace of the cluster whose hub gets another address.
const moves = "moves"

// T06 and its kind: only an effective change of the configuration reaches the clusters, and it does so once.
func TestAConfigurationReachesClustersWhenItChangesAndOnce(t *testing.T) {
	y := ofTheYard(t)
	m := y.mover(t)

	start := m.imports(t)
	t.Run("keys that do not matter change nothing", func(t *testing.T) {
		stage.AwaitQuiet(t, patience, m.Hub, count.By("fleet-controller"), count.Key.Write, func(k count.Key) bool { return !count.Leases(k) && !count.Events(k) })
		writes := m.writes(t)
		times := reduced(t, "writes of the configuration:", 20, 50)
		for i := range times {
			m.configure(t, map[string]any{"webhookReceiverURL": fmt.Sprintf("https://example.com/%d", i), "gitClientTimeout": fmt.Sprintf("%ds", 40+i)})
		}
		require.Zero(t, m.writes(t).Sub(writes).Total(), "writes on the hub:\n%s", m.writes(t).Sub(writes))
	})
	t.Run("an address that is empty for a while moves nobody", func(t *testing.T) {
		before := m.registration(t)
		m.configure(t, map[string]any{"apiServerURL": ""})
		m.awaitAddress(t, "")
		m.configure(t, map[string]any{"apiServerURL": y.HubURL})
		m.awaitAddress(t, y.HubURL)
		m.awaitImported(t)
		require.Equal(t, before, m.registration(t))
		y.connected(t, moves, m.name)
	})
	t.Run("the configuration of another version is not taken", func(t *testing.T) {
		values := m.values(t)
		m.annotate(t, "v0.0.0-other", ignored)
		m.write(t, map[string]any{"apiServerURL": "https://127.0.0.1:1"}, ignored)
		m.write(t, map[string]any{"apiServerURL": y.HubURL}, ignored)
		m.annotate(t, m.version, loaded)
		require.Equal(t, values.ResourceVersion, m.values(t).ResourceVersion, "the values of a registration token were written")
		y.connected(t, moves, m.name)
	})
	require.Zero(t, m.imports(t).Sub(start).Total(), "calls of a cluster for which nothing changed:\n%s", m.imports(t).Sub(start))
	t.Run("a new address in the chart moves the agent once", func(t *testing.T) { m.move(t, start) })
}

// mover is a cluster that the hub imported, beside a token whose values show what the hub takes for its own address.
type mover struct {
	*yard
	name, version string
}

func (y *yard) mover(t *testing.T) *mover {
	t.Helper()
	m := &mover{yard: y, name: "moved"}
	y.workspace(t, moves)
	secret, err := stage.KubeconfigSecret(y.edge, moves, m.name)
	require.NoError(t, err)
	_, err = y.Hub.Kube.CoreV1().Secrets(moves).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	y.leaveAsFound(t)
	_, err = y.NewToken(until(t, patience), moves, "probe", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	t.Cleanup(func() { y.remove(t, stage.Tokens.Resource, moves, "probe") })
	y.writeCluster(t, moves, m.name, "moved-system")
	t.Cleanup(func() { y.delete(t, moves, m.name) })
	y.agent(t, "moved-system", "agent-moved")
	y.connected(t, moves, m.name)
	m.awaitOne(t, "")
	await(t, "the bundle of the cluster's agent", func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, y.Hub, stage.Bundles, moves, names.AgentBundle(m.name))
		return bundle != nil, "no bundle", err
	})
	m.version = m.configMap(t).Annotations[names.VersionAnnotation]
	require.NotZero(t, m.imports(t).Total(), "the import has left no trace in the cluster's audit log, so that no trace shows nothing")
	return m
}

// imports are the hub's calls of the cluster, reads and writes.
func (m *mover) imports(t *testing.T) count.Counts {
	t.Helper()
	counts, err := m.edge.Requests()
	require.NoError(t, err)
	return counts.Where(count.By("fleet-controller"))
}

// writes are what the hub writes on itself, Leases apart.
func (m *mover) writes(t *testing.T) count.Counts {
	t.Helper()
	counts, err := m.Hub.Requests()
	require.NoError(t, err)
	return counts.Writes().Where(count.By("fleet-controller")).Without(count.Leases, count.Events)
}

// What the hub says of a configuration, once for each version of the ConfigMap.
const (
	loaded  = "Configuration loaded"
	ignored = "Configuration is not taken"
)

// configure changes keys of the hub's configuration and waits until the hub has taken it.
func (m *mover) configure(t *testing.T, changes map[string]any) {
	t.Helper()
	m.write(t, changes, loaded)
}

func (m *mover) write(t *testing.T, changes map[string]any, answer string) {
	t.Helper()
	m.update(t, answer, func(cm *corev1.ConfigMap) {
		config := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(cm.Data[names.ConfigKey]), &config))
		for key, value := range changes {
			config[key] = value
		}
		document, err := json.Marshal(config)
		require.NoError(t, err)
		cm.Data[names.ConfigKey] = string(document)
	})
}

// annotate says for which version of the hub the configuration is.
func (m *mover) annotate(t *testing.T, version, answer string) {
	t.Helper()
	m.update(t, answer, func(cm *corev1.ConfigMap) { cm.Annotations[names.VersionAnnotation] = version })
}

// update writes the hub's ConfigMap and waits for what the hub says of it.
func (m *mover) update(t *testing.T, answer string, change func(*corev1.ConfigMap)) {
	t.Helper()
	said := m.said(t, answer)
	cm := m.configMap(t)
	change(cm)
	_, err := m.Hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace).Update(t.Context(), cm, metav1.UpdateOptions{})
	require.NoError(t, err)
	await(t, "the hub to say "+answer, func(context.Context) (bool, string, error) {
		return m.said(t, answer) > said, "not yet", nil
	})
}

// said is how often a text stands in the log of the hub.
func (m *mover) said(t *testing.T, text string) int {
	t.Helper()
	log, err := os.ReadFile(m.controller.Log)
	require.NoError(t, err)
	return strings.Count(string(log), text)
}

func (m *mover) configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm, err := m.Hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace).Get(t.Context(), names.ControllerConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	return cm
}

// values are those of the registration token.
func (m *mover) values(t *testing.T) *corev1.Secret {
	t.Helper()
	secret, err := m.Hub.Kube.CoreV1().Secrets(moves).Get(t.Context(), "probe", metav1.GetOptions{})
	require.NoError(t, err)
	return secret
}

// address is the one of the hub that it hands out.
func (m *mover) address(t *testing.T) string {
	t.Helper()
	values, err := m.TokenValues(until(t, patience), moves, "probe")
	require.NoError(t, err)
	address, _ := values["apiServerURL"].(string)
	return address
}

func (m *mover) awaitAddress(t *testing.T, want string) {
	t.Helper()
	await(t, fmt.Sprintf("the hub to hand out the address %q", want), func(context.Context) (bool, string, error) {
		got := m.address(t)
		return got == want, got, nil
	})
}

func (m *mover) awaitImported(t *testing.T) {
	t.Helper()
	_, err := m.AwaitCluster(until(t, patience), moves, m.name, "Imported", func(c *fleet.Cluster) bool {
		return stage.IsTrue(c.Status.Conditions, fleet.ClusterConditionImported)
	})
	require.NoError(t, err)
}

// registration is the UID of the one registration that the cluster has.
func (m *mover) registration(t *testing.T) types.UID {
	t.Helper()
	requests := m.requests(t, moves, m.name)
	require.Len(t, requests, 1)
	return requests[0].UID
}

// awaitOne waits for a registration in use that is not the earlier one, and for the end of all others.
func (m *mover) awaitOne(t *testing.T, earlier types.UID) {
	t.Helper()
	await(t, "one registration whose credential is in use", func(ctx context.Context) (bool, string, error) {
		all, err := stage.List[fleet.ClusterRegistration](ctx, m.Hub, stage.Registrations, moves)
		if err != nil || len(all) != 1 {
			return false, fmt.Sprintf("%d registrations", len(all)), err
		}
		ready := stage.Condition(all[0].Status.Conditions, fleet.RegistrationConditionCredentialReady)
		return all[0].UID != earlier && ready != nil && ready.Reason == "InUse", stage.Conditions(all[0].Status.Conditions), nil
	})
}

// move gives the hub another address by an upgrade of its chart, and follows the agent there. start are the hub's calls
// before all that.
func (m *mover) move(t *testing.T, start count.Counts) {
	t.Helper()
	front := shim.RunTCP(t, m.HubURL)
	before := m.registration(t)
	started := time.Now()
	values := map[string]any{"agentHeartbeatInterval": heartbeat, "apiServerURL": front.URL()}
	for key, value := range withoutLocal {
		values[key] = value
	}
	require.NoError(t, m.InstallHub(until(t, patience), values))
	t.Cleanup(func() { m.comeBack(t) })

	m.awaitOne(t, before)
	require.Equal(t, front.URL(), m.storedAddress(t), "the agent's stored credential")
	m.awaitBeat(t, started)
	require.NotZero(t, front.Accepted(), "connections to the new address")
	cluster := m.connected(t, moves, m.name)
	require.Equal(t, front.URL(), cluster.Status.APIServerURL)
	record, ok := registration.ImportOf(cluster.Annotations)
	require.True(t, ok)
	require.True(t, record.Time.After(started.Truncate(time.Second)), "the import is recorded")
	seen := m.imports(t).Sub(start)
	require.Equal(t, 1, seen.Where(count.Key.Write, count.On("", "secrets")).Total(), "bootstrap secrets written, one for each import:\n%s", seen)
}

// comeBack takes the chart's first values again, before the front ends.
func (m *mover) comeBack(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	values := map[string]any{"agentHeartbeatInterval": heartbeat}
	for key, value := range withoutLocal {
		values[key] = value
	}
	require.NoError(t, m.InstallHub(ctx, values))
}

// storedAddress is where the agent's credential leads.
func (m *mover) storedAddress(t *testing.T) string {
	t.Helper()
	secret, err := m.edge.Kube.CoreV1().Secrets("moved-system").Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	require.NoError(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	require.NoError(t, err)
	return config.Host
}

// awaitBeat waits for a heartbeat after a time.
func (m *mover) awaitBeat(t *testing.T, after time.Time) {
	t.Helper()
	namespace := m.connected(t, moves, m.name).Status.Namespace
	await(t, "a heartbeat by the new address", func(ctx context.Context) (bool, string, error) {
		lease, err := m.Hub.Kube.CoordinationV1().Leases(namespace).Get(ctx, names.HeartbeatLease, metav1.GetOptions{})
		if err != nil || lease.Spec.RenewTime == nil {
			return false, "none", err
		}
		return lease.Spec.RenewTime.After(after), lease.Spec.RenewTime.String(), nil
	})
}
