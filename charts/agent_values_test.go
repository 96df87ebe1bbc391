package charts

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rancher/fleet/pkg/names"
)

func TestEveryValueOfTheAgentDoesWhatItSays(t *testing.T) {
	checkValues(t, agent, slices.Concat(agentInstallRows, agentPodRows, agentEnvRows, agentVoidRows))
}

// bootstrap expects a key of the bootstrap secret.
func bootstrap(key, want string) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		secret := find[*corev1.Secret](t, r, names.DefaultSystemNamespace, names.AgentBootstrapSecret)
		assert.Equal(t, want, string(secret.Data[key]))
	}
}

// rules expects those of the agent's ClusterRole.
func rules(want ...rbacv1.PolicyRule) probe {
	return func(t *testing.T, r rendered) {
		t.Helper()
		assert.Equal(t, want, find[*rbacv1.ClusterRole](t, r, "", "fleet-agent-system-fleet-agent-role").Rules)
	}
}

func command(want ...string) probe {
	return onPod(func(t *testing.T, p corev1.PodSpec) {
		t.Helper()
		assert.Equal(t, want, p.Containers[0].Command)
		assert.Empty(t, p.Containers[0].Args)
	})
}

// Values that end in the bootstrap secret and the configuration, or guard the installation.
var agentInstallRows = []row{
	{path: "apiServerURL", set: "https://other", want: bootstrap("apiServerURL", "https://other")},
	{path: "token", set: "other", want: bootstrap("token", "other")},
	{path: "tokenName", set: "other", want: bootstrap("tokenName", "other")},
	{path: "internal.systemNamespace", set: "other", refused: "internal.systemNamespace"},
	{path: "internal.managedReleaseName", set: "other", refused: "internal.managedReleaseName"},
	{path: "apiServerCA", set: `"a certificate\n"`, want: bootstrap("apiServerCA", "a certificate\n")},
	{path: "clusterNamespace", set: "fleet-default", want: bootstrap("clusterNamespace", "fleet-default")},
	{path: "systemRegistrationNamespace", set: "other-clusters-system", want: bootstrap("systemRegistrationNamespace", "other-clusters-system")},
	{path: "existingSecret", set: "fleet-agent-bootstrap", want: func(t *testing.T, r rendered) {
		assert.NotContains(t, r.list(), "Secret/cattle-fleet-system/fleet-agent-bootstrap")
	}},
	{path: "agentTLSMode", set: "strict", want: config(`"strict"`, "agentTLSMode")},
	{path: "clientID", set: "me", want: config(`"me"`, "clientID")},
	{path: "labels", set: "{env: prod, tier: 1}", want: config(`{"env":"prod","tier":"1"}`, "labels")},
	{path: "agent.rules", set: "[{apiGroups: [apps], resources: [deployments], verbs: [get]}]", want: rules(
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
	)},
	{path: "agent.rules", set: "[{resources: [deployments]}]", refused: "verbs"},
	{path: "garbageCollectionInterval", set: "1h", want: config(`"1h"`, "garbageCollectionInterval")},
	{path: "garbageCollectionInterval", set: "0", want: config(``, "garbageCollectionInterval")},
}

var agentPodRows = []row{
	{path: "image.repository", set: "mirror/agent", want: image("mirror/agent:dev")},
	{path: "image.tag", set: "v1", want: image("rancher/fleet-agent:v1")},
	{path: "image.imagePullPolicy", set: "Never", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, corev1.PullNever, p.Containers[0].ImagePullPolicy)
	})},
	{path: "global.cattle.systemDefaultRegistry", set: "reg.example.com", want: image("reg.example.com/rancher/fleet-agent:dev")},
	{path: "global.cattle.imagePullSecrets", set: "[{name: one}]", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, []corev1.LocalObjectReference{{Name: "one"}}, p.ImagePullSecrets)
	})},
	{path: "fleetAgent.nodeSelector", set: "{disk: ssd}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, map[string]string{"kubernetes.io/os": "linux", "disk": "ssd"}, p.NodeSelector)
	})},
	{path: "fleetAgent.tolerations", set: "[{key: a, operator: Exists}]", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, []corev1.Toleration{uninitializedToleration, linuxToleration, {Key: "a", Operator: "Exists"}}, p.Tolerations)
	})},
	{path: "fleetAgent.affinity", set: "{podAffinity: {}}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}, p.Affinity)
	})},
	{path: "fleetAgent.resources", set: "{limits: {memory: 1Gi}}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, "1Gi", p.Containers[0].Resources.Limits.Memory().String())
	})},
	{path: "fleetAgent.hostNetwork", set: "true", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.True(t, p.HostNetwork)
	})},
	{path: "debug", set: "true", want: command("fleetagent", "--debug", "--debug-level", "0")},
	{path: "debugLevel", set: "5", with: "debug: true\n", want: command("fleetagent", "--debug", "--debug-level", "5")},
	{path: "disableSecurityContext", set: "true", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Nil(t, p.SecurityContext)
		assert.Nil(t, p.Containers[0].SecurityContext)
	})},
	{path: "agent.replicas", set: "2", want: replicas(2)},
	{path: "agent.replicas", set: "0", want: replicas(0)},
}

var agentEnvRows = []row{
	{path: "agentCheckinInterval", set: "20m", want: env("CHECKIN_INTERVAL", "20m")},
	{path: "agentHeartbeatInterval", set: "30s", want: env("HEARTBEAT_INTERVAL", "30s")},
	// P03: an agent that registers itself may need a proxy as any other.
	{path: "proxy", set: "http://proxy:3128", want: all(
		env("HTTP_PROXY", "http://proxy:3128"), env("HTTPS_PROXY", "http://proxy:3128"),
		env("NO_PROXY", "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.svc,.cluster.local"))},
	{path: "noProxy", set: "example.com", with: "proxy: http://proxy:3128\n", want: env("NO_PROXY", "example.com")},
	{path: "noProxy", set: "example.com"},
	// P04: the CA of an https proxy, beside a proxy of the chart's or of extraEnv.
	{path: "proxyCACert", set: `"a\nb"`, want: env("PROXY_CA_BUNDLE", "a\nb")},
	{path: "extraEnv", set: "[{name: GOGC, value: \"50\"}]", want: env("GOGC", "50")},
	{path: "extraEnv", set: "[{name: HTTP_PROXY, value: other}]", with: "proxy: http://proxy:3128\n", want: all(
		env("HTTP_PROXY", "other"), env("HTTPS_PROXY", "http://proxy:3128"))},
	{path: "extraEnv", set: "[{name: DRIFT_RECONCILER_WORKERS, value: \"7\"}]", want: env("DRIFT_RECONCILER_WORKERS", "7")},
	{path: "extraEnv", set: "[{name: AGENT_SCOPE, value: mine}]", refused: "extraEnv sets AGENT_SCOPE"},
	{path: "extraEnv", set: "[{name: GENERATION, value: mine}]", refused: "extraEnv sets GENERATION"},
	{path: "agent.reconciler.workers.bundledeployment", set: `"7"`, want: env("BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "7")},
	{path: "agent.reconciler.workers.drift", set: "7", want: env("DRIFT_RECONCILER_WORKERS", "7")},
	{path: "leaderElection.leaseDuration", set: "60s", want: env("CATTLE_ELECTION_LEASE_DURATION", "60s")},
	{path: "leaderElection.renewDeadline", set: "50s", want: env("CATTLE_ELECTION_RENEW_DEADLINE", "50s")},
	{path: "leaderElection.retryPeriod", set: "5s", want: env("CATTLE_ELECTION_RETRY_PERIOD", "5s")},
}

var agentVoidRows = []row{
	{path: "image.os", set: "linux"},
	{path: "kubectl.nodeSelector", set: "{a: b}"},
	{path: "kubectl.tolerations", set: "[]"},
	{path: "debugLevel", set: "5"},
	{path: "fleetAgent.other", set: "{deep: [1]}"},
	{path: "unheardOf", set: "{deep: [1]}"},
}

var uninitializedToleration = corev1.Toleration{
	Key: "node.cloudprovider.kubernetes.io/uninitialized", Operator: "Equal", Value: "true", Effect: "NoSchedule",
}
