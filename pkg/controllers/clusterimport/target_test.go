package clusterimport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

func TestWhatKeepsATargetFromBeingKnown(t *testing.T) {
	data := func(pairs ...string) func(*facts) {
		return func(f *facts) {
			f.secret = kubeconfigSecret(map[string][]byte{})
			for i := 0; i < len(pairs); i += 2 {
				f.secret.Data[pairs[i]] = []byte(pairs[i+1])
			}
		}
	}
	conf := func(change func(*config.Config)) func(*facts) { return func(f *facts) { change(&f.config) } }
	for name, test := range map[string]struct {
		cluster *fleet.Cluster
		change  func(*facts)
		reason  string
		says    string
	}{
		"a namespace that is not allowed": {cluster(func(c *fleet.Cluster) { c.Spec.KubeConfigSecretNamespace = "kube-system" }), func(*facts) {}, "SecretNamespaceNotAllowed", "not an allowed Fleet namespace"},
		"no secret (R26)":                 {cluster(), func(f *facts) { f.secret = nil }, "KubeconfigMissing", "fleet-default/kubeconfig"},
		"a secret without data":           {cluster(), data(), "KubeconfigIncomplete", `"value"`},
		"no URL anywhere (R05)":           {cluster(), conf(func(c *config.Config) { c.APIServerURL = "" }), "NoServerURL", "apiServerURL"},
		"only a blank one in the secret":  {cluster(), func(f *facts) { data(keyKubeconfig, "k", keyServerURL, " \n")(f); f.config.APIServerURL = "" }, "NoServerURL", "apiServerURL"},
		"a URL that is none":              {cluster(), data(keyKubeconfig, "k", keyServerURL, "hub.example.com"), "InvalidServerURL", "https"},
		"no TLS mode":                     {cluster(), conf(func(c *config.Config) { c.AgentTLSMode = "" }), "InvalidTLSMode", "system-store"},
		"an unknown TLS mode":             {cluster(), conf(func(c *config.Config) { c.AgentTLSMode = "trust-me" }), "InvalidTLSMode", "trust-me"},
		"options that cannot be applied": {cluster(func(c *fleet.Cluster) {
			c.Spec.AgentTolerations = []corev1.Toleration{{Operator: "Sometimes"}}
		}), func(*facts) {}, "InvalidAgentOptions", "oleration"},
	} {
		t.Run(name, func(t *testing.T) {
			p := decide(factsOf(test.cluster, test.change))
			assert.Equal(t, await, p.action)
			assert.Equal(t, test.reason, p.reason)
			assert.Contains(t, p.message, test.says)
			assert.Zero(t, p.again, "no retry until something changes")
		})
	}
}

func TestURLAndCAFallBackEachOnItsOwn(t *testing.T) {
	for name, test := range map[string]struct{ url, ca, wantURL, wantCA string }{
		"both from the configuration": {"", "", hubURL, "the hub's CA"},
		"both from the secret":        {"https://own.example.com", "own CA", "https://own.example.com", "own CA"},
		"URL from the secret":         {"https://own.example.com", "", "https://own.example.com", "the hub's CA"},
		"CA from the secret":          {"", "own CA", hubURL, "own CA"},
	} {
		got, problem := effectiveTarget(factsOf(cluster(), func(f *facts) {
			f.secret = kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("k"), keyServerURL: []byte(test.url), keyServerCA: caOf(test.ca)})
		}))
		require.Nil(t, problem, name)
		assert.Equal(t, target{serverURL: test.wantURL, serverCA: caOf(test.wantCA)}, got, name)
	}
}

// T06: what is missing for a moment is no reason to call a good import bad; where the agent is not well, it is.
func TestWhatIsMissingForAMomentDoesNotTouchAWellCluster(t *testing.T) {
	missing := map[string]func(*facts){
		"KubeconfigMissing":    func(f *facts) { f.secret = nil },
		"KubeconfigIncomplete": func(f *facts) { f.secret = kubeconfigSecret(nil) },
		"NoServerURL":          func(f *facts) { f.config.APIServerURL = "" },
	}
	silent := is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now)
	for reason, change := range missing {
		assert.Equal(t, plan{}, decide(factsOf(cluster(imported), change)), reason)
		assert.Equal(t, reason, decide(factsOf(cluster(imported, silent), change)).reason)
		assert.Equal(t, reason, decide(factsOf(cluster(), change)).reason)
	}
	p := decide(factsOf(cluster(imported), func(f *facts) { f.config.AgentTLSMode = "x" }))
	assert.Equal(t, "InvalidTLSMode", p.reason, "a wrong setting does not pass by itself")
}
