package charts

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/names"
)

// rancherValues are the values that Rancher passes, as it spells them.
func rancherValues(t *testing.T) string {
	t.Helper()
	values, err := os.ReadFile("testdata/rancher-values.yaml")
	require.NoError(t, err)
	return string(values)
}

func TestRanchersValuesInstall(t *testing.T) {
	r := hub(rancherValues(t)).mustRender(t)
	all(
		image("registry.example.com/rancher/fleet:dev"),
		args("--disable-bootstrap"),
		noBootstrapAccount,
		env("HTTP_PROXY", "http://proxy.example.com:3128"),
		env("NO_PROXY", "127.0.0.0/8,.svc"),
		config(`"https://rancher.example.com"`, "apiServerURL"),
		config(`"strict"`, "agentTLSMode"),
		config(`"cattle-fleet-local-system"`, "bootstrap", "agentNamespace"),
		config(`"fleet-local"`, "bootstrap", "namespace"),
		config(`"registry.example.com/"`, "systemDefaultRegistry"),
		config(`[]`, "imagePullSecrets"),
	)(t, r)
	p := pod(t, r)
	assert.Equal(t, "rancher-critical", p.PriorityClassName)
	assert.Len(t, p.Tolerations, 2)
	assert.Contains(t, p.Tolerations, linuxToleration)
	golden(t, "fleet-rancher.yaml", r.text(t))
}

// At its first start Rancher knows no address yet, and passes empty texts and a null.
func TestRanchersFirstValuesInstall(t *testing.T) {
	r := hub(`
apiServerURL: ""
apiServerCA: ""
agentTLSMode: system-store
global: {cattle: {systemDefaultRegistry: "", imagePullSecrets: null}}
bootstrap: {enabled: false, agentNamespace: cattle-fleet-local-system}
gitops: {enabled: false}
`).mustRender(t)
	all(
		image("rancher/fleet:dev"),
		config(`""`, "apiServerURL"),
		config(`""`, "apiServerCA"),
		config(`[]`, "imagePullSecrets"),
		noEnv("HTTP_PROXY"), noEnv("HTTPS_PROXY"), noEnv("NO_PROXY"),
	)(t, r)
	assert.Empty(t, pod(t, r).ImagePullSecrets)
	assert.Contains(t, r.notes, "no address for agents yet")
}

// Rancher installs the same values again and again: that must restart nothing.
func TestRenderingTwiceGivesTheSame(t *testing.T) {
	first := hub(rancherValues(t)).mustRender(t)
	second := hub(rancherValues(t)).mustRender(t)
	assert.Equal(t, first.text(t), second.text(t))
}

// only is a rendering of one object.
func only(object runtime.Object) rendered { return rendered{objects: []runtime.Object{object}} }

// A null takes a default away. No value is so important that the chart could not do without it, the images apart.
func TestEveryValueMayBeNull(t *testing.T) {
	before := hub("").mustRender(t)
	for _, key := range []string{
		"apiServerURL", "apiServerCA", "agentTLSMode", "agentCheckinInterval", "agentHeartbeatInterval",
		"garbageCollectionInterval", "ignoreClusterRegistrationLabels", "proxy", "noProxy", "proxyCACert", "gitClientTimeout",
		"bootstrap", "agentCredential", "registration", "admissionPolicies", "flowControl", "agentUpgrade", "clusterOnDelete", "clusterOnDeleteTimeout", "global", "nodeSelector",
		"tolerations", "affinity", "priorityClassName", "resources", "extraLabels", "extraAnnotations", "extraEnv", "metrics",
		"debug", "debugLevel", "propagateDebugSettingsToAgents", "disableSecurityContext", "leaderElection", "controller",
		"agent", "gitops", "gitjob", "helmops", "imagescan", "shards", "migrations",
	} {
		t.Run(key, func(t *testing.T) {
			r := hub(key + ": null\n").mustRender(t)
			assert.Equal(t, before.list(), r.list())
			assert.Equal(t, only(deployment(t, before)).text(t), only(deployment(t, r)).text(t))
			assert.NotEmpty(t, document(t, r, names.ConfigKey))
		})
	}
	for _, key := range []string{"image", "agentImage"} {
		_, err := hub(key + ": null\n").render()
		require.Error(t, err)
		assert.Contains(t, err.Error(), key)
	}
}
