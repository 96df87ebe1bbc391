package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	hubDurations = []string{
		"agentCheckinInterval", "agentHeartbeatInterval", "garbageCollectionInterval", "gitClientTimeout", "clusterEnqueueDelay",
		"gitops.syncPeriod", "leaderElection.leaseDuration", "leaderElection.renewDeadline", "leaderElection.retryPeriod",
		"agent.leaderElection.leaseDuration", "agent.leaderElection.renewDeadline", "agent.leaderElection.retryPeriod",
		"agentCredential.lifetime", "agentCredential.agentInitiatedLifetime", "registration.ttlUngranted", "agentUpgrade.soak", "clusterOnDeleteTimeout",
	}
	agentDurations = []string{
		"agentCheckinInterval", "agentHeartbeatInterval", "garbageCollectionInterval",
		"leaderElection.leaseDuration", "leaderElection.renewDeadline", "leaderElection.retryPeriod",
	}
	goodDurations = []string{"0", "15m", "1h30m", "1.5h", ".5s", "250ms", "10us", "10µs", "10ns", "2160h", "0s", `"0"`}
	badDurations  = []string{"15", "-1", "1.5", "true", "[]", `""`, "1d", "1w", "7d12h", `"15"`, "15 m", "m", "-5m", "1h 5m", "fifteen"}
)

func checkDurations(t *testing.T, base func(string) install, paths []string) {
	for _, path := range paths {
		for _, good := range goodDurations {
			_, _, err := base(row{path: path, set: good}.document(t)).input()
			assert.NoErrorf(t, err, "%s: %s", path, good)
		}
		for _, bad := range badDurations {
			_, _, err := base(row{path: path, set: bad}.document(t)).input()
			assert.Errorf(t, err, "%s: %s", path, bad)
		}
	}
}

func TestDurationsOfFleetAreCheckedBeforeAnythingIsInstalled(t *testing.T) {
	checkDurations(t, hub, hubDurations)
}

func TestDurationsOfTheAgentAreCheckedBeforeAnythingIsInstalled(t *testing.T) {
	checkDurations(t, agent, agentDurations)
}

func TestSchemaRefusesWhatCannotWork(t *testing.T) {
	for _, c := range []struct {
		base func(string) install
		rows []row
	}{
		{hub, []row{
			{path: "agentTLSMode", set: "lax"}, {path: "agentTLSMode", set: `""`},
			{path: "clusterOnDelete", set: "forget"},
			{path: "registration.maxUngranted", set: "0"}, {path: "registration.maxUngranted", set: "many"},
			{path: "admissionPolicies.enabled", set: "maybe"}, {path: "flowControl.enabled", set: "maybe"},
			{path: "agentCredential.onShortLifetime", set: "panic"},
			{path: "agentUpgrade.maxUnavailable", set: "0"}, {path: "agentUpgrade.maxUnavailable", set: "0%"},
			{path: "agentUpgrade.maxUnavailable", set: "101%"}, {path: "agentUpgrade.maxUnavailable", set: "half"},
			{path: "agentUpgrade.canary", set: "{env: test}"},
			{path: "bootstrap.enabled", set: "maybe"},
			{path: "controller.replicas", set: "-1"}, {path: "controller.replicas", set: "1.5"},
			{path: "agent.reconciler.workers.drift", set: "many"},
			{path: "image.tag", set: `""`}, {path: "image.tag", set: "1.10"},
			{path: "global.cattle.imagePullSecrets", set: "[pull]"},
			{path: "extraEnv", set: "[{value: nameless}]"}, {path: "extraEnv", set: "[{name: A, value: 5}]"},
			{path: "tolerations", set: "{key: a}"},
		}},
		{agent, []row{
			{path: "agentTLSMode", set: "lax"}, {path: "agentTLSMode", set: `""`},
			{path: "fleetAgent.hostNetwork", set: "maybe"},
			{path: "fleetAgent.tolerations", set: "{key: a}"},
			{path: "labels", set: "[a]"}, {path: "labels", set: "{a: {b: c}}"},
			{path: "agent.replicas", set: "-1"},
			{path: "token", set: "5"},
		}},
	} {
		for _, r := range c.rows {
			_, _, err := c.base(r.document(t)).input()
			assert.Errorf(t, err, "%s: %s", r.path, r.set)
		}
	}
}

// Whoever reads the message must find the value in it, and nobody may find a token there.
func TestSchemaErrorNamesTheValue(t *testing.T) {
	_, err := agent("agentCheckinInterval: 1d\nclusterNamespace: 5\n").render()
	require.Error(t, err)
	assert.Contains(t, err.Error(), "agentCheckinInterval")
	assert.Contains(t, err.Error(), "clusterNamespace")
	assert.NotContains(t, err.Error(), "secret-token")
}
