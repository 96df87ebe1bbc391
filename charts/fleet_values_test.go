package charts

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestEveryValueOfFleetDoesWhatItSays(t *testing.T) {
	checkValues(t, hub, slices.Concat(fleetConfigRows, fleetPodRows, fleetEnvRows, fleetRightsRows, fleetVoidRows))
}

// Values that end in the configuration.
var fleetConfigRows = []row{
	{path: "agentImage.repository", set: "mirror/agent", want: config(`"mirror/agent:dev"`, "agentImage")},
	{path: "agentImage.tag", set: "v1", want: config(`"rancher/fleet-agent:v1"`, "agentImage")},
	{path: "agentImage.imagePullPolicy", set: "Always", want: config(`"Always"`, "agentImagePullPolicy")},
	{path: "apiServerURL", set: "https://hub.example.com/?a=1&b=<2>", want: config(`"https://hub.example.com/?a=1&b=<2>"`, "apiServerURL")},
	{path: "apiServerCA", set: `"a certificate\n"`, want: config(`"YSBjZXJ0aWZpY2F0ZQo="`, "apiServerCA")},
	{path: "agentTLSMode", set: "strict", want: config(`"strict"`, "agentTLSMode")},
	{path: "agentCheckinInterval", set: "20m", want: config(`"20m"`, "agentCheckinInterval")},
	{path: "agentCheckinInterval", set: "0", want: config(`"0"`, "agentCheckinInterval")},
	{path: "agentHeartbeatInterval", set: "30s", want: config(`"30s"`, "agentHeartbeatInterval")},
	{path: "garbageCollectionInterval", set: "1h", want: config(`"1h"`, "garbageCollectionInterval")},
	{path: "garbageCollectionInterval", set: "0", want: config(``, "garbageCollectionInterval")},
	{path: "ignoreClusterRegistrationLabels", set: "true", want: config(`true`, "ignoreClusterRegistrationLabels")},
	{path: "manageAgent", set: "false", want: config(`false`, "manageAgent")},
	{path: "manageAgent", set: "true", want: config(`true`, "manageAgent")},
	{path: "webhookReceiverURL", set: "https://hook", want: config(`"https://hook"`, "webhookReceiverURL")},
	{path: "githubURLPrefix", set: "https://git", want: config(`"https://git"`, "githubURLPrefix")},
	{path: "gitClientTimeout", set: "1m", want: config(`"1m"`, "gitClientTimeout")},
	{path: "bootstrap.namespace", set: `"-"`, want: config(`"-"`, "bootstrap", "namespace")},
	{path: "bootstrap.agentNamespace", set: "local-agent", want: config(`"local-agent"`, "bootstrap", "agentNamespace")},
	{path: "bootstrap.localAgentDisabled", set: "true", want: all(
		config(`true`, "bootstrap", "localAgentDisabled"),
		config(`"fleet-local"`, "bootstrap", "namespace"),
		config(`"master"`, "bootstrap", "branch"))},
	{path: "bootstrap.clusterLabels", set: "{env: prod, tier: 1, spare: true}", want: config(`{"env":"prod","tier":"1","spare":"true"}`, "bootstrap", "clusterLabels")},
	{path: "bootstrap.repo", set: "https://git/repo", want: config(`"https://git/repo"`, "bootstrap", "repo")},
	{path: "bootstrap.secret", set: "git-auth", want: config(`"git-auth"`, "bootstrap", "secret")},
	{path: "bootstrap.branch", set: "main", want: config(`"main"`, "bootstrap", "branch")},
	{path: "bootstrap.paths", set: "a, b", want: config(`"a, b"`, "bootstrap", "paths")},
	{path: "agentCredential.lifetime", set: "720h", want: config(`"720h"`, "agentCredential", "lifetime")},
	{path: "agentCredential.agentInitiatedLifetime", set: "720h", want: config(`"720h"`, "agentCredential", "agentInitiatedLifetime")},
	{path: "agentCredential.onShortLifetime", set: "renewOnly", want: config(`"renewOnly"`, "agentCredential", "onShortLifetime")},
	{path: "registration.requireIdentity", set: "true", want: config(`true`, "registration", "requireIdentity")},
	{path: "registration.strictLabels", set: "true", want: config(`true`, "registration", "strictLabels")},
	{path: "registration.ttlUngranted", set: "1h", want: config(`"1h"`, "registration", "ttlUngranted")},
	{path: "registration.maxUngranted", set: "7", want: config(`7`, "registration", "maxUngranted")},
	{path: "registration.maxUses", set: "7", want: config(`7`, "registration", "maxUses")},
	{path: "agentUpgrade.canary", set: "{matchLabels: {env: test}}", want: config(`{"matchLabels":{"env":"test"}}`, "agentUpgrade", "canary")},
	{path: "agentUpgrade.maxUnavailable", set: "3", want: config(`3`, "agentUpgrade", "maxUnavailable")},
	{path: "agentUpgrade.soak", set: "5m", want: config(`"5m"`, "agentUpgrade", "soak")},
	{path: "clusterOnDelete", set: "remove", want: config(`"remove"`, "clusterOnDelete")},
	{path: "clusterOnDeleteTimeout", set: "90s", want: config(`"90s"`, "clusterOnDeleteTimeout")},
	{path: "agent.reconciler.workers.bundledeployment", set: "9", want: config(`"9"`, "agentWorkers", "bundledeployment")},
	{path: "agent.reconciler.workers.drift", set: `"9"`, want: config(`"9"`, "agentWorkers", "drift")},
}

// Values that end in the pod.
var fleetPodRows = []row{
	{path: "image.repository", set: "mirror/fleet", want: image("mirror/fleet:dev")},
	{path: "image.tag", set: "v1", want: all(image("rancher/fleet:v1"), versionAnnotation("v1"))},
	{path: "image.imagePullPolicy", set: "Always", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, corev1.PullAlways, p.Containers[0].ImagePullPolicy)
	})},
	{path: "global.cattle.systemDefaultRegistry", set: "reg.example.com:5000/mirror", want: all(
		image("reg.example.com:5000/mirror/rancher/fleet:dev"),
		config(`"reg.example.com:5000/mirror/"`, "systemDefaultRegistry"),
		config(`"reg.example.com:5000/mirror/rancher/fleet-agent:dev"`, "agentImage"))},
	{path: "global.cattle.systemDefaultRegistry", set: "reg.example.com/", want: all(
		image("reg.example.com/rancher/fleet:dev"), config(`"reg.example.com/"`, "systemDefaultRegistry"))},
	{path: "global.cattle.imagePullSecrets", set: "[{name: one}, {name: two}]", want: all(
		config(`[{"name":"one"},{"name":"two"}]`, "imagePullSecrets"),
		onPod(func(t *testing.T, p corev1.PodSpec) {
			assert.Equal(t, []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}, p.ImagePullSecrets)
		}))},
	{path: "nodeSelector", set: "{disk: ssd}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, map[string]string{"kubernetes.io/os": "linux", "disk": "ssd"}, p.NodeSelector)
	})},
	{path: "tolerations", set: "[{key: control-plane, operator: Exists, effect: NoSchedule}]", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, []corev1.Toleration{linuxToleration, {Key: "control-plane", Operator: "Exists", Effect: "NoSchedule"}}, p.Tolerations)
	})},
	{path: "affinity", set: "{podAntiAffinity: {}}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}, p.Affinity)
	})},
	{path: "priorityClassName", set: "system-cluster-critical", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, "system-cluster-critical", p.PriorityClassName)
	})},
	{path: "resources", set: "{limits: {memory: 1Gi}}", want: onPod(func(t *testing.T, p corev1.PodSpec) {
		assert.Equal(t, "1Gi", p.Containers[0].Resources.Limits.Memory().String())
	})},
	{path: "extraLabels.fleetController", set: "{team: a, app: hijacked}", want: extraLabels},
	{path: "extraAnnotations.fleetController", set: "{team: a}", want: extraAnnotations},
	{path: "metrics.enabled", set: "false", want: all(args("--disable-metrics"), noMetrics)},
	{path: "debug", set: "true", want: args("--debug", "--debug-level", "0")},
	{path: "debugLevel", set: "5", with: "debug: true\n", want: args("--debug", "--debug-level", "5")},
	{path: "disableSecurityContext", set: "true", want: all(
		env("FLEET_DEBUG_DISABLE_SECURITY_CONTEXT", "true"),
		onPod(func(t *testing.T, p corev1.PodSpec) {
			assert.Nil(t, p.SecurityContext)
			assert.Nil(t, p.Containers[0].SecurityContext)
		}))},
	{path: "controller.replicas", set: "3", want: replicas(3)},
	{path: "controller.replicas", set: "0", want: replicas(0)},
}

// Values that end in the environment.
var fleetEnvRows = []row{
	{path: "clusterEnqueueDelay", set: "120s", want: env("FLEET_CLUSTER_ENQUEUE_DELAY", "120s")},
	{path: "proxy", set: "http://proxy:3128", want: all(
		env("HTTP_PROXY", "http://proxy:3128"), env("HTTPS_PROXY", "http://proxy:3128"),
		env("NO_PROXY", "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.svc,.cluster.local"))},
	{path: "noProxy", set: "example.com", with: "proxy: http://proxy:3128\n", want: env("NO_PROXY", "example.com")},
	{path: "noProxy", set: "example.com"},
	{path: "proxyCACert", set: `"a\nb\n"`, want: env("PROXY_CA_BUNDLE", "a\nb\n")},
	{path: "extraEnv", set: "[{name: GOGC, value: \"50\"}]", want: env("GOGC", "50")},
	{path: "extraEnv", set: "[{name: HTTP_PROXY, value: other}]", with: "proxy: http://proxy:3128\n", want: all(
		env("HTTP_PROXY", "other"), env("HTTPS_PROXY", "http://proxy:3128"))},
	{path: "propagateDebugSettingsToAgents", set: "false", want: env("FLEET_PROPAGATE_DEBUG_SETTINGS_TO_AGENTS", "false")},
	{path: "leaderElection.leaseDuration", set: "60s", want: env("CATTLE_ELECTION_LEASE_DURATION", "60s")},
	{path: "leaderElection.renewDeadline", set: "50s", want: env("CATTLE_ELECTION_RENEW_DEADLINE", "50s")},
	{path: "leaderElection.retryPeriod", set: "5s", want: env("CATTLE_ELECTION_RETRY_PERIOD", "5s")},
	{path: "agent.leaderElection.leaseDuration", set: "60s", want: env("FLEET_AGENT_ELECTION_LEASE_DURATION", "60s")},
	{path: "agent.leaderElection.renewDeadline", set: "50s", want: env("FLEET_AGENT_ELECTION_RENEW_DEADLINE", "50s")},
	{path: "agent.leaderElection.retryPeriod", set: "5s", want: env("FLEET_AGENT_ELECTION_RETRY_PERIOD", "5s")},
	{path: "agent.replicas", set: "2", want: env("FLEET_AGENT_REPLICA_COUNT", "2")},
	{path: "agent.replicas", set: "0", want: env("FLEET_AGENT_REPLICA_COUNT", "0")},
	{path: "controller.registrationTokenTTL.required", set: "true", want: env("FLEET_REGISTRATION_TOKEN_TTL_REQUIRED", "true")},
	{path: "controller.reconciler.workers.gitrepo", set: `"7"`, want: env("GITREPO_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.bundle", set: "7", want: env("BUNDLE_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.bundledeployment", set: "7", want: env("BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.cluster", set: "7", want: env("CLUSTER_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.clustergroup", set: "7", want: env("CLUSTERGROUP_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.imagescan", set: "7", want: env("IMAGESCAN_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.schedule", set: "7", want: env("SCHEDULE_RECONCILER_WORKERS", "7")},
	{path: "controller.reconciler.workers.content", set: "7", want: env("CONTENT_RECONCILER_WORKERS", "7")},
}

// Values that give or take rights.
var fleetRightsRows = []row{
	{path: "bootstrap.enabled", set: "false", want: all(args("--disable-bootstrap"), noBootstrapAccount)},
	{path: "bootstrap.enabled", set: `"false"`, want: all(args("--disable-bootstrap"), noBootstrapAccount)},
	{path: "admissionPolicies.enabled", set: "false", want: noPolicies},
	{path: "flowControl.enabled", set: "false", want: noFlowControl},
}

// Values of containers, Deployments and Jobs that we do not have, and values that nobody knows.
var fleetVoidRows = []row{
	{path: "gitops.enabled", set: "false"},
	{path: "gitops.syncPeriod", set: "1h"},
	{path: "gitjob.replicas", set: "3"},
	{path: "gitjob", set: "{proxy: a, noProxy: b, priorityClassName: c}"},
	{path: "helmops.enabled", set: "false"},
	{path: "helmops.replicas", set: "3"},
	{path: "imagescan.enabled", set: "true"},
	{path: "shards", set: "[{id: one, nodeSelector: {a: b}}, {id: two}]"},
	{path: "migrations.clusterRegistrationCleanup", set: "false"},
	{path: "migrations.gitrepoJobsCleanup", set: "false"},
	{path: "migrations.gitrepoHelmURLRegexMigration", set: "false"},
	{path: "insecureSkipHostKeyChecks", set: "true"},
	{path: "additionalKnownHosts", set: "[host ssh-ed25519 AAAA]"},
	{path: "resources.fleetCleanup", set: "{limits: {cpu: 1}}"},
	{path: "resources.fleetAgentmanagement", set: "{limits: {cpu: 1}}"},
	{path: "resources.gitjob", set: "{limits: {cpu: 1}}"},
	{path: "resources.helmops", set: "{}"},
	{path: "extraLabels.gitjob", set: "{team: a}"},
	{path: "extraAnnotations.gitjob", set: "{team: a}"},
	{path: "debugLevel", set: "5"},
	{path: "controller.other", set: "{deep: [1]}"},
	{path: "unheardOf", set: "{deep: [1]}"},
	{path: "global.other", set: "1"},
	{path: "global.cattle.url", set: "https://rancher.example.com"},
}
