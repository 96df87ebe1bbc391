package badinput_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// Configurations of an agent that cannot be read, or with which no request can be sent.
func TestAnAgentsConfigurationThatCannotBeUsedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	a := b.newAgent(t, "bad-config")
	a.run(t, append(unreadableRows(), unsendableRows()...))
	a.tells(t, "ConfigInvalid", names.AgentConfigMap)
}

// configRow is a row of a configuration under which a good bootstrap secret has to wait.
func configRow(name, document string, says ...string) agentRow {
	return agentRow{name: name, says: append(says, names.AgentConfigMap), spoil: func(t *testing.T, a *agent) {
		a.configure(t, map[string]string{names.ConfigKey: document})
	}}
}

func unreadableRows() []agentRow {
	const invalid = "reason=ConfigInvalid"
	return []agentRow{
		configRow("broken YAML", "clientID: [", `key "config"`, invalid),
		configRow("a list", "- a", `key "config"`, invalid),
		configRow("labels that are a list", `{"labels":["a"]}`, `key "config"`, "labels", invalid),
		configRow("a client ID that is a number", `{"clientID":5}`, `key "config"`, "clientID", invalid),
		configRow("an unknown TLS mode", `{"agentTLSMode":"trust-me"}`, "agentTLSMode", "system-store", invalid),
		{name: "options that are none", says: []string{`key "options"`, invalid}, spoil: func(t *testing.T, a *agent) {
			a.configure(t, map[string]string{names.ConfigKey: a.config()[names.ConfigKey], "options": "{" + marker})
		}},
		{name: "huge options", says: []string{`key "options"`, "bytes", invalid}, spoil: func(t *testing.T, a *agent) {
			a.configure(t, map[string]string{names.ConfigKey: a.config()[names.ConfigKey], "options": strings.Repeat(" ", 70_000) + "{}"})
		}},
	}
}

// unsendableRows are configurations that can be read, and with which the hub would refuse the request.
func unsendableRows() []agentRow {
	labels := make([]string, 65)
	for i := range labels {
		labels[i] = fmt.Sprintf(`"label-%d":"v"`, i)
	}
	row := func(name, document string, says ...string) agentRow {
		r := configRow(name, document, append(says, "reason=RegistrationFailed")...)
		spoil := r.spoil
		r.spoil = func(t *testing.T, a *agent) {
			spoil(t, a)
			a.secret(t, names.AgentBootstrapSecret, a.bootstrap(nil))
		}
		return r
	}
	return []agentRow{
		row("a client ID of a space", `{"clientID":" ","agentTLSMode":"strict"}`, "spec.clientID"),
		row("a client ID that is a path", `{"clientID":"a/b","agentTLSMode":"strict"}`, "spec.clientID"),
		row("a client ID of 254 characters", `{"clientID":"`+strings.Repeat("c", 254)+`","agentTLSMode":"strict"}`, "spec.clientID", "254"),
		row("65 labels", `{"labels":{`+strings.Join(labels, ",")+`},"agentTLSMode":"strict"}`, "spec.clusterLabels", "65", "64"),
		row("a label that is none", `{"labels":{"not a label":"v"},"agentTLSMode":"strict"}`, "spec.clusterLabels", "not a label"),
		row("a huge label", `{"labels":{"env":"`+strings.Repeat("x", 900_000)+`"},"agentTLSMode":"strict"}`, "spec.clusterLabels[env]"),
		row("a label with a bad value", `{"labels":{"env":"not valid!"},"agentTLSMode":"strict"}`, "spec.clusterLabels[env]"),
	}
}

// R16: an agent whose configuration is empty, or is not there, joins with the UID of its cluster.
func TestAnAgentWithoutAConfigurationJoins(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	ns, err := b.edge.Kube.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	require.NoError(t, err)
	for name, data := range map[string]map[string]string{
		"an empty ConfigMap": {}, "an empty document": {names.ConfigKey: ""}, "no ConfigMap": nil, "labels that are null": {names.ConfigKey: `{"labels":null,"clientID":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.newAgent(t, "unused")
			a.configure(t, data)
			a.secret(t, names.AgentBootstrapSecret, a.bootstrap(nil))
			_, err := b.AwaitConnected(until(t), a.workspace, names.RegisteredCluster(string(ns.UID)))
			require.NoError(t, err)
			a.remove(t, names.RegisteredCluster(string(ns.UID)))
		})
	}
}

// remove deletes a Cluster of the agent's workspace.
func (a *agent) remove(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, a.Hub.Dynamic.Resource(stage.Clusters).Namespace(a.workspace).Delete(t.Context(), name, metav1.DeleteOptions{}))
}

// Credentials and keys that somebody has written over.
func TestACredentialOrKeyThatWasDamagedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	a := b.newAgent(t, "bad-credential")
	stored := func(name string, data map[string][]byte, says ...string) agentRow {
		return agentRow{name: name, says: append(says, "Secret "+a.agents+"/"+names.AgentCredentialStore, "reason=CredentialInvalid"), spoil: func(t *testing.T, a *agent) {
			a.secret(t, names.AgentCredentialStore, data)
		}}
	}
	a.run(t, []agentRow{
		stored("no keys", map[string][]byte{}, `key "kubeconfig"`, "empty"),
		stored("no kubeconfig", map[string][]byte{"kubeconfig": []byte("\t{" + marker)}, `key "kubeconfig"`, "cannot be read"),
		stored("no token", map[string][]byte{"kubeconfig": kubeconfigWithoutToken(t, b)}, `key "kubeconfig"`, "token"),
		damagedKey(),
	})
}

// damagedKey is a row of an agent's key that somebody has written over, once it has one. The old one heals it: with another
// one the agent would be another.
func damagedKey() agentRow {
	var old map[string][]byte
	return agentRow{
		name: "a key that is none", says: []string{"/" + names.AgentIdentitySecret, "privateKey"},
		spoil: func(t *testing.T, a *agent) {
			secret, err := a.edge.Kube.CoreV1().Secrets(a.agents).Get(t.Context(), names.AgentIdentitySecret, metav1.GetOptions{})
			require.NoError(t, err)
			old = map[string][]byte{"privateKey": secret.Data["privateKey"]}
			a.secret(t, names.AgentIdentitySecret, map[string][]byte{"privateKey": []byte(marker)})
			a.secret(t, names.AgentBootstrapSecret, a.bootstrap(nil))
		},
		mend: func(t *testing.T, a *agent) { a.secret(t, names.AgentIdentitySecret, old) },
	}
}

func kubeconfigWithoutToken(t *testing.T, b *bed) []byte {
	t.Helper()
	kubeconfig, err := lab.Kubeconfig{Name: "hub", Server: b.HubURL, CA: b.HubCA}.Bytes()
	require.NoError(t, err)
	return kubeconfig
}
