package charts

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleetconfig "github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

func TestConfigurationOfDefaultsIsStable(t *testing.T) {
	golden(t, "fleet-config.json", configText(t, hub("").mustRender(t), names.ConfigKey))
}

func TestConfigurationOfFullValuesIsStable(t *testing.T) {
	r := hub(`
image: {tag: v0.17.0}
agentImage: {tag: v0.17.0}
apiServerURL: https://hub.example.com:6443
apiServerCA: |
  -----BEGIN CERTIFICATE-----
  MIIB
  -----END CERTIFICATE-----
agentTLSMode: strict
manageAgent: false
global: {cattle: {systemDefaultRegistry: reg.example.com, imagePullSecrets: [{name: pull}]}}
bootstrap: {agentNamespace: cattle-fleet-local-system, clusterLabels: {env: prod}, repo: https://git/repo, secret: auth, paths: "a, b"}
agentUpgrade: {canary: {matchLabels: {canary: "true"}}, maxUnavailable: 5}
`).mustRender(t)
	golden(t, "fleet-config-full.json", configText(t, r, names.ConfigKey))
	versionAnnotation("v0.17.0")(t, r)
}

// A hub without its ConfigMap and one with the chart's defaults behave alike, where the chart has no reason to differ.
func TestDefaultConfigurationIsTheHubsOwn(t *testing.T) {
	own := fleetconfig.Default("dev")
	parsed, warnings, err := fleetconfig.Parse(configText(t, hub("").mustRender(t), names.ConfigKey), own)
	require.NoError(t, err)
	assert.Empty(t, warnings)

	assert.Equal(t, "fleet-local", parsed.Bootstrap.Namespace)
	assert.Equal(t, "master", parsed.Bootstrap.Branch)
	assert.Equal(t, fleetconfig.TLSSystemStore, parsed.AgentTLSMode)
	assert.Equal(t, own.AgentImage, parsed.AgentImage)
	assert.Equal(t, own.GitClientTimeout, parsed.GitClientTimeout)
	assert.Equal(t, own.AgentHeartbeatInterval, parsed.AgentHeartbeatInterval)
	assert.Equal(t, metav1.Duration{Duration: 15 * time.Minute}, parsed.AgentCheckinInterval)
	assert.Equal(t, metav1.Duration{Duration: 15 * time.Minute}, parsed.GarbageCollectionInterval)
	assert.Equal(t, own.AgentCredential, parsed.AgentCredential)
	assert.Equal(t, own.Registration, parsed.Registration)
	assert.Equal(t, own.AgentUpgrade, parsed.AgentUpgrade)
	assert.Equal(t, own.ClusterOnDelete, parsed.ClusterOnDelete)
	assert.Equal(t, own.ClusterOnDeleteTimeout, parsed.ClusterOnDeleteTimeout)
	assert.Equal(t, fleetconfig.AgentWorkers{BundleDeployment: "50", Drift: "50"}, parsed.AgentWorkers)
	assert.Empty(t, parsed.APIServerCA)
	assert.True(t, parsed.ManagesAgents())
}

// Whatever is rendered must be readable by the hub, and mean what the values say.
func TestConfigurationIsReadByTheHub(t *testing.T) {
	r := hub(`
apiServerCA: "PEM & <text>\n"
agentCheckinInterval: 0
garbageCollectionInterval: 0
agentUpgrade: {maxUnavailable: 25%, canary: {matchExpressions: [{key: a, operator: Exists}]}}
`).mustRender(t)
	parsed, warnings, err := fleetconfig.Parse(configText(t, r, names.ConfigKey), fleetconfig.Default("dev"))
	require.NoError(t, err)
	assert.Empty(t, warnings)
	assert.Equal(t, "PEM & <text>\n", string(parsed.APIServerCA))
	assert.Zero(t, parsed.AgentCheckinInterval)
	assert.Zero(t, parsed.GarbageCollectionInterval)
	assert.Equal(t, "25%", parsed.AgentUpgrade.MaxUnavailable.String())
	assert.Equal(t, []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Exists"}}, parsed.AgentUpgrade.Canary.MatchExpressions)
}

// The local agent is on unless it is switched off, and the switch moves nothing else of the bootstrap.
func TestSwitchingTheLocalAgentOffLeavesTheRestOfTheBootstrap(t *testing.T) {
	bootstrap := func(values string) map[string]any {
		found, ok := document(t, hub(values).mustRender(t), names.ConfigKey)["bootstrap"].(map[string]any)
		require.True(t, ok)
		return found
	}
	const others = "agentNamespace: agents, clusterLabels: {env: prod}, repo: https://git/repo, secret: auth, branch: main, paths: a"
	for values, want := range map[string]bool{
		"": false, "bootstrap: {localAgentDisabled: false}": false, "bootstrap: {localAgentDisabled: true}": true,
		"bootstrap: {localAgentDisabled: false, " + others + "}": false, "bootstrap: {localAgentDisabled: true, " + others + "}": true,
	} {
		got := bootstrap(values)
		assert.Equal(t, want, got["localAgentDisabled"], values)
		delete(got, "localAgentDisabled")
		without := ""
		if strings.Contains(values, others) {
			without = "bootstrap: {" + others + "}"
		}
		unchanged := bootstrap(without)
		delete(unchanged, "localAgentDisabled")
		assert.Equal(t, unchanged, got, values)
	}
}

func TestEveryKeyOfTheHubsConfigurationIsRendered(t *testing.T) {
	known, err := json.Marshal(fleetconfig.Default("dev"))
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal(known, &want))
	got := document(t, hub("").mustRender(t), names.ConfigKey)
	for key := range want {
		assert.Contains(t, got, key)
	}
}
