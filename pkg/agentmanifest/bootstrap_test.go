package agentmanifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/config"
)

func TestBootstrapSecretCarriesTheValues(t *testing.T) {
	secret := BootstrapSecret("agents", map[string]string{"token": "t", "clusterNamespace": "fleet-default", "apiServerCA": ""})
	require.Equal(t, "agents/fleet-agent-bootstrap", secret.Namespace+"/"+secret.Name)
	require.Equal(t, corev1.SecretTypeOpaque, secret.Type)
	require.Equal(t, map[string][]byte{
		"token": []byte("t"), "clusterNamespace": []byte("fleet-default"), "apiServerCA": {}}, secret.Data)
	require.Empty(t, secret.StringData)
}

func TestTheAgentReadsBackItsConfig(t *testing.T) {
	cm, err := ConfigMap("agents", AgentConfig{
		Labels:                    map[string]string{"env": "prod", "fleet.cattle.io/x": "y"},
		ClientID:                  "client",
		AgentTLSMode:              config.TLSSystemStore,
		GarbageCollectionInterval: 20 * time.Minute,
	})
	require.NoError(t, err)
	require.Equal(t, "agents/fleet-agent", cm.Namespace+"/"+cm.Name)

	var got config.Config
	require.NoError(t, json.Unmarshal([]byte(cm.Data["config"]), &got))
	require.Equal(t, map[string]string{"env": "prod"}, got.Labels)
	require.Equal(t, "client", got.ClientID)
	require.Equal(t, config.TLSSystemStore, got.AgentTLSMode)
	require.Equal(t, 20*time.Minute, got.GarbageCollectionInterval.Duration)
}

func TestWhatIsNotSetIsNotInTheConfig(t *testing.T) {
	cm, err := ConfigMap("agents", AgentConfig{AgentTLSMode: config.TLSStrict})
	require.NoError(t, err)
	require.Equal(t, `{"agentTLSMode":"strict"}`, cm.Data["config"])
}

func TestAnUnknownTLSModeIsRefused(t *testing.T) {
	for _, mode := range []string{"", "Strict", "off"} {
		_, err := ConfigMap("agents", AgentConfig{AgentTLSMode: mode})
		require.ErrorContains(t, err, "agentTLSMode")
		require.ErrorContains(t, err, "system-store")
	}
}

// An agent cannot send more than the hub takes, and would never register.
func TestLabelsThatNoRequestCanHoldAreLeftOut(t *testing.T) {
	labels := map[string]string{"fleet.cattle.io/x": "not counted"}
	for i := range 64 {
		labels[fmt.Sprint("label-", i)] = "v"
	}
	config := func() string {
		cm, err := ConfigMap("agents", AgentConfig{Labels: labels, AgentTLSMode: config.TLSStrict})
		require.NoError(t, err)
		return cm.Data["config"]
	}
	require.Contains(t, config(), "label-63")
	labels["one-more"] = "v"
	require.Equal(t, `{"agentTLSMode":"strict"}`, config())
}

func TestAClientIDThatNoRequestCanHoldIsRefused(t *testing.T) {
	for _, id := range []string{" ", "a b", "a/b", strings.Repeat("x", 254), "ü"} {
		_, err := ConfigMap("agents", AgentConfig{ClientID: id, AgentTLSMode: config.TLSStrict})
		require.ErrorContains(t, err, "spec.clientID", id)
	}
}

func TestLabelsOfToolsAndManagersAreLeftOut(t *testing.T) {
	require.Equal(t, map[string]string{
		"env":                       "prod",
		"provider.cattle.io":        "k3s",
		"x.kubectl.kubernetes.io/a": "kept",
	}, CleanLabels(map[string]string{
		"env":                                 "prod",
		"provider.cattle.io":                  "k3s",
		"x.kubectl.kubernetes.io/a":           "kept",
		"kubectl.kubernetes.io/a":             "dropped",
		"fleet.cattle.io/cluster":             "dropped",
		"management.cattle.io/cluster-name":   "dropped",
		"objectset.rio.cattle.io/hash":        "dropped",
		"example.com.cattle.io/anything-else": "dropped",
	}))
	require.Equal(t, map[string]string{}, CleanLabels(nil))
}
