package badinput_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// hubRow is one bad configuration of the hub. It is given while one cluster is connected and another has just been written.
type hubRow struct {
	name string
	// document takes the place of the good one; with change, the good one is changed instead.
	document string
	change   func(config map[string]any)
	// logged are parts of a line of the hub's log.
	logged []string
	// reason and says are of condition Imported of the new cluster; empty where it is imported all the same, because what was
	// in force stays.
	reason string
	says   []string
}

func hubRows() []hubRow {
	const object, field = "ConfigMap cattle-fleet-system/fleet-controller", `key "config"`
	kept := []string{"Configuration is not taken, what was in force stays", object, field}
	set := func(key string, value any) func(map[string]any) {
		return func(config map[string]any) { config[key] = value }
	}
	return []hubRow{
		{name: "broken YAML", document: "apiServerURL: [", logged: append(kept, "YAML")},
		{name: "a list", document: "- a", logged: kept},
		{name: "a word", document: "nonsense", logged: kept},
		{name: "an address that is a number", change: set("apiServerURL", 5), logged: append(kept, "apiServerURL")},
		{name: "a CA that is no base64", change: set("apiServerCA", "-----BEGIN"), logged: append(kept, "base64")},
		{name: "labels that are a list", change: set("bootstrap", []string{"a"}), logged: append(kept, "bootstrap")},
		{name: "an empty document", document: " \n", logged: []string{"Configuration is not taken", field, "is empty", "is kept"}},
		{name: "a bad duration", change: set("agentCheckinInterval", "1d"), logged: []string{"agentCheckinInterval", `"1d"`, "the default is used"}},
		{name: "no address", change: set("apiServerURL", ""), reason: "NoServerURL", says: []string{"apiServerURL", "hub's configuration"}},
		{name: "an address without scheme", change: set("apiServerURL", "hub.example.com"), reason: "InvalidServerURL", says: []string{"https://hub.example.com"}},
		{name: "no CA, with strict", change: set("apiServerCA", ""), reason: "NoServerCA", says: []string{"agentTLSMode", "set apiServerCA in the hub's configuration", "system-store"}},
		{name: "a CA that is none", change: set("apiServerCA", []byte("nonsense")), reason: "InvalidServerCA", says: []string{"apiServerCA of the hub's configuration", "PEM"}},
		{name: "a wrong TLS mode", change: set("agentTLSMode", "trust-me"), reason: "InvalidTLSMode", says: []string{`agentTLSMode "trust-me"`, "strict", "system-store"}},
		{name: "no image", change: set("agentImage", "a b"), reason: "InvalidAgentOptions", says: []string{"config.agentImage"}},
		{name: "workers that are a word", change: set("agentWorkers", map[string]string{"drift": "many"}), reason: "InvalidAgentOptions", says: []string{"config.agentWorkers.drift"}},
		{name: "a pull secret that is none", change: set("imagePullSecrets", []map[string]string{{"name": "Not A Name"}}), reason: "InvalidAgentOptions", says: []string{"Not A Name", "config.imagePullSecrets"}},
	}
}

// R05 and its kind: a configuration of the hub that cannot be used is named, leaves the clusters alone that are connected, and
// is taken as soon as it is mended.
func TestAHubConfigurationThatCannotBeUsedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	tb := b.table(t, "bad-hub", []row{{name: "steady", spoil: func(*input) {}, joins: true}})
	tb.give(t)
	namespace := tb.good["steady"].spec.AgentNamespace
	agent, err := tb.StartAgent(until(t), tb.edge, namespace, "agent-"+namespace)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := agent.Stop(grace)
		require.NoError(t, err)
	})
	_, err = tb.AwaitConnected(until(t), tb.workspace, "steady")
	require.NoError(t, err)
	steady := tb.registration(t)
	good := b.hubConfig(t)
	t.Cleanup(func() { b.restoreConfig(t, good) })

	for n, r := range hubRows() {
		t.Run(r.name, func(t *testing.T) {
			from := b.logged(t)
			b.writeConfig(t, r.apply(t, good))
			if len(r.logged) > 0 {
				b.hubSaid(t, from, r.logged...)
			}
			tb.newcomer(t, n, r, func() {
				from := b.logged(t)
				b.writeConfig(t, good)
				b.hubSaid(t, from, "Configuration loaded")
			})
			require.Equal(t, steady, tb.registration(t), "the connected cluster is left alone")
		})
	}
	t.Run("the ConfigMap is gone", func(t *testing.T) {
		from := b.logged(t)
		require.NoError(t, b.Hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace).Delete(t.Context(), names.ControllerConfigMap, metav1.DeleteOptions{}))
		b.hubSaid(t, from, "Configuration is not taken", "the ConfigMap is missing", "is kept")
		from = b.logged(t)
		b.writeConfig(t, good)
		b.hubSaid(t, from, "Configuration loaded")
		require.Equal(t, steady, tb.registration(t))
	})
	_, err = tb.AwaitConnected(until(t), tb.workspace, "steady")
	require.NoError(t, err)
}

func (r hubRow) apply(t *testing.T, good *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	bad := good.DeepCopy()
	bad.Data[names.ConfigKey] = r.document
	if r.change != nil {
		config := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(good.Data[names.ConfigKey]), &config))
		r.change(config)
		document, err := json.Marshal(config)
		require.NoError(t, err)
		bad.Data[names.ConfigKey] = string(document)
	}
	return bad
}

// newcomer is a cluster that is written while the configuration is bad: it says so, costs nothing, and is imported when the
// configuration is good again. Where the bad one is not taken, it is imported at once.
func (tb *table) newcomer(t *testing.T, n int, r hubRow, mend func()) {
	t.Helper()
	name := fmt.Sprintf("newcomer-%d", n)
	in := tb.goodInput(t, name, newPlace().agents)
	require.NoError(t, tb.writeSecret(t.Context(), in))
	require.NoError(t, stage.Create(t.Context(), tb.Hub, stage.Clusters, "Cluster", tb.workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: tb.workspace, Name: name}, Spec: in.spec,
	}))
	imported := func(reason string, parts ...string) {
		_, err := tb.AwaitCluster(until(t), tb.workspace, name, "Imported with reason "+reason, func(c *fleet.Cluster) bool {
			condition := stage.Condition(c.Status.Conditions, fleet.ClusterConditionImported)
			return condition != nil && condition.Reason == reason && containsAll(condition.Message, parts)
		})
		require.NoError(t, err)
	}
	if r.reason != "" {
		imported(r.reason, r.says...)
		seen := tb.watch()
		if full() {
			seen = tb.observe()
		}
		writes := seen.upTo(tb.bed).of("fleet-controller", func(r shim.Request) bool { return r.Write() && strings.Contains(r.Name, name) })
		require.Empty(t, writes, "writes while the configuration is bad:\n%s", strings.Join(writes, "\n"))
	} else {
		imported("Imported")
	}
	mend()
	imported("Imported")
}

// registration is the UID of the registration of the one cluster that has joined.
func (tb *table) registration(t *testing.T) string {
	t.Helper()
	list, err := stage.List[fleet.ClusterRegistration](t.Context(), tb.Hub, stage.Registrations, tb.workspace)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return string(list[0].UID)
}

func (b *bed) hubConfig(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	cm, err := b.Hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace).Get(t.Context(), names.ControllerConfigMap, metav1.GetOptions{})
	require.NoError(t, err)
	cm.ResourceVersion, cm.UID, cm.ManagedFields = "", "", nil
	return cm
}

func (b *bed) writeConfig(t *testing.T, cm *corev1.ConfigMap) {
	t.Helper()
	require.NoError(t, b.tryConfig(t.Context(), cm))
}

func (b *bed) tryConfig(ctx context.Context, cm *corev1.ConfigMap) error {
	configs := b.Hub.Kube.CoreV1().ConfigMaps(stage.SystemNamespace)
	_, err := configs.Update(ctx, cm, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = configs.Create(ctx, cm, metav1.CreateOptions{})
	}
	return err
}

func (b *bed) restoreConfig(t *testing.T, good *corev1.ConfigMap) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	require.NoError(t, b.tryConfig(ctx, good))
}

// logged is how much the hub has written into its log.
func (b *bed) logged(t *testing.T) int {
	t.Helper()
	log, err := os.ReadFile(b.controller.Log)
	require.NoError(t, err)
	return len(log)
}

// hubSaid waits for a line of the hub's log that has all parts.
func (b *bed) hubSaid(t *testing.T, from int, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("the hub to say %q", parts), func(context.Context) (bool, string, error) {
		log, err := os.ReadFile(b.controller.Log)
		if err != nil {
			return false, "", err
		}
		for line := range strings.Lines(string(log[from:])) {
			if containsAll(strings.ReplaceAll(line, `\"`, `"`), parts) {
				return true, "", nil
			}
		}
		return false, string(log[from:]), nil
	})
}
