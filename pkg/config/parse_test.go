package config

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const testVersion = "v1.2.3"

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

func parse(t *testing.T, document string) (Config, []string) {
	t.Helper()
	c, warnings, err := Parse(document, Default(testVersion))
	require.NoError(t, err)
	return c, warnings
}

func TestDefaults(t *testing.T) {
	c := Default(testVersion)
	assert.Equal(t, "rancher/fleet-agent:v1.2.3", c.AgentImage)
	assert.Equal(t, 30*time.Second, c.GitClientTimeout.Duration)
	assert.Equal(t, time.Minute, c.AgentHeartbeatInterval.Duration)
	assert.Equal(t, 90*24*time.Hour, c.AgentCredential.Lifetime.Duration)
	assert.Equal(t, 365*24*time.Hour, c.AgentCredential.AgentInitiatedLifetime.Duration)
	assert.Equal(t, ShortLifetimeSecret, c.AgentCredential.OnShortLifetime)
	assert.Equal(t, OnDeleteKeep, c.ClusterOnDelete)
	assert.Equal(t, "10%", c.AgentUpgrade.MaxUnavailable.String())
	assert.Zero(t, c.AgentCheckinInterval)
	assert.False(t, c.BootstrapEnabled())
	assert.True(t, c.ManagesAgents())
}

func TestDocumentsThatSayNothingKeepTheDefaults(t *testing.T) {
	for _, document := range []string{"", "   \n\n", "{}", "null", "---\n", "# a comment\n", "unknown: {key: 1}"} {
		c, warnings := parse(t, document)
		assert.Equal(t, Default(testVersion), c, "%q", document)
		assert.Empty(t, warnings, "%q", document)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	c, warnings := parse(t, `{
	  "agentImage": "hub.example.com/agent:1", "agentImagePullPolicy": "Always", "systemDefaultRegistry": "hub.example.com/",

	  "agentCheckinInterval": "20m", "agentHeartbeatInterval": "5s", "manageAgent": false,
	  "labels": {"env": "test"}, "clientID": "id", "apiServerURL": "https://hub.example.com", "apiServerCA": "Q0E=",
	  "bootstrap": {"namespace": "fleet-local", "agentNamespace": "agents", "localAgentDisabled": true,
	    "clusterLabels": {"a": "b"}, "repo": "r", "secret": "s", "paths": "p", "branch": "main"},
	  "ignoreClusterRegistrationLabels": true, "agentTLSMode": "strict", "gitClientTimeout": "20s",
	  "garbageCollectionInterval": "10m", "agentWorkers": {"bundledeployment": "5", "drift": "6"},
	  "imagePullSecrets": [{"name": "pull"}],
	  "agentCredential": {"lifetime": "1h", "agentInitiatedLifetime": "2h", "onShortLifetime": "renewOnly"},
	  "registration": {"requireIdentity": true, "ttlUngranted": "3h", "maxUngranted": 7},
	  "agentUpgrade": {"canary": {"matchLabels": {"canary": "true"}}, "maxUnavailable": 2, "soak": "4m"},
	  "clusterOnDelete": "keep", "clusterOnDeleteTimeout": "6m", "webhookReceiverURL": "", "githubURLPrefix": "",
	}`)
	assert.Empty(t, warnings)
	manage, two := false, intstr.FromInt32(2)
	assert.Equal(t, Config{
		AgentImage: "hub.example.com/agent:1", AgentImagePullPolicy: "Always", SystemDefaultRegistry: "hub.example.com/",
		AgentCheckinInterval: duration(20 * time.Minute), AgentHeartbeatInterval: duration(5 * time.Second), ManageAgent: &manage,
		Labels: map[string]string{"env": "test"}, ClientID: "id", APIServerURL: "https://hub.example.com", APIServerCA: []byte("CA"),
		Bootstrap: Bootstrap{Namespace: "fleet-local", AgentNamespace: "agents", LocalAgentDisabled: true,
			ClusterLabels: map[string]string{"a": "b"}, Repo: "r", Secret: "s", Paths: "p", Branch: "main"},
		IgnoreClusterRegistrationLabels: true, AgentTLSMode: TLSStrict, GitClientTimeout: duration(20 * time.Second),
		GarbageCollectionInterval: duration(10 * time.Minute), AgentWorkers: AgentWorkers{BundleDeployment: "5", Drift: "6"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		AgentCredential:  AgentCredential{Lifetime: duration(time.Hour), AgentInitiatedLifetime: duration(2 * time.Hour), OnShortLifetime: ShortLifetimeRenewOnly},
		Registration:     Registration{RequireIdentity: true, TTLUngranted: duration(3 * time.Hour), MaxUngranted: 7},
		AgentUpgrade: AgentUpgrade{Canary: &metav1.LabelSelector{MatchLabels: map[string]string{"canary": "true"}},
			MaxUnavailable: &two, Soak: duration(4 * time.Minute)},
		ClusterOnDelete: OnDeleteKeep, ClusterOnDeleteTimeout: duration(6 * time.Minute),
	}, c)
	assert.True(t, c.BootstrapEnabled())
	assert.False(t, c.ManagesAgents())
}

func TestPlainYAMLIsRead(t *testing.T) {
	c, warnings := parse(t, "\nagentImage: a\n\nbootstrap:\n  namespace: \"-\"\nmanageAgent: true\n")
	assert.Empty(t, warnings)
	assert.Equal(t, "a", c.AgentImage)
	assert.False(t, c.BootstrapEnabled(), "a dash switches the bootstrap off")
	assert.True(t, c.ManagesAgents())
}

func TestUnreadableDocumentsAreErrorsWithTheDefaults(t *testing.T) {
	for _, test := range []struct{ document, problem string }{
		{"- a\n- b\n", "not a YAML or JSON mapping"},
		{"just text", "not a YAML or JSON mapping"},
		{"{", "not a YAML or JSON mapping"},
		{"labels: text", "labels"},
		{"manageAgent: maybe", "manageAgent"},
		{"apiServerCA: '***'", "wrong type"},
		{"a: *" + strings.Repeat("x", 1<<16), "not a YAML or JSON mapping"},
		{"{manageAgent: true, labels: {a: b}, bootstrap: [1]}", "bootstrap"},
		{strings.Repeat("#", maxDocument+1), "bytes"},
	} {
		c, _, err := Parse(test.document, Default(testVersion))
		require.ErrorContains(t, err, test.problem, "%.40q", test.document)
		assert.Equal(t, Default(testVersion), c, "%.40q", test.document)
		assert.Less(t, len(err.Error()), 400, "an error is bounded")
	}
}

// A document that fails half-way must not have written through the pointers and maps of the configuration in force.
func TestParseLeavesItsBaseAlone(t *testing.T) {
	base := Default(testVersion)
	base.Labels = map[string]string{"env": "test"}
	base.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	want, err := copyOf(base)
	require.NoError(t, err)

	merged, _, err := Parse(`{agentUpgrade: {maxUnavailable: 5}, labels: {env: prod, a: b}, imagePullSecrets: [{name: other}]}`, base)
	require.NoError(t, err)
	assert.Equal(t, want, base)
	assert.Equal(t, map[string]string{"env": "prod", "a": "b"}, merged.Labels)
	assert.Equal(t, "5", merged.AgentUpgrade.MaxUnavailable.String())

	_, _, err = Parse(`{agentUpgrade: {maxUnavailable: 5}, labels: {env: prod}, manageAgent: 3}`, base)
	require.Error(t, err)
	assert.Equal(t, want, base)
}
