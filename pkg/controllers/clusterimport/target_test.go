package clusterimport

import (
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
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
	badCA := func(ca, mode string) func(*facts) {
		return conf(func(c *config.Config) { c.APIServerCA, c.AgentTLSMode = []byte(ca), mode })
	}
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
		"no CA anywhere, and it alone is to be trusted": {cluster(), conf(func(c *config.Config) { c.APIServerCA = nil }), "NoServerCA",
			`set apiServerCA in the hub's configuration, or key "apiServerCA" in secret fleet-default/kubeconfig, or agentTLSMode "system-store"`},
		"a configured CA that is none":               {cluster(), badCA("nonsense", config.TLSStrict), "InvalidServerCA", "apiServerCA of the hub's configuration holds no certificate"},
		"the same beside the system's authorities":   {cluster(), badCA("nonsense", config.TLSSystemStore), "InvalidServerCA", "PEM"},
		"a configured CA that is blank":              {cluster(), badCA(" \n", config.TLSStrict), "InvalidServerCA", "PEM"},
		"a configured CA that is cut":                {cluster(), badCA(string(caOf("x")[:200]), config.TLSStrict), "InvalidServerCA", "PEM"},
		"a configured CA that is a key":              {cluster(), badCA(strings.ReplaceAll(string(caOf("x")), "CERTIFICATE", "PRIVATE KEY"), config.TLSStrict), "InvalidServerCA", "CERTIFICATE"},
		"a configured CA that was encoded once more": {cluster(), badCA(base64.StdEncoding.EncodeToString(caOf("x")), config.TLSStrict), "InvalidServerCA", "encoded once more"},
		"a configured CA that is DER":                {cluster(), badCA(string(derOf(caOf("x"))), config.TLSStrict), "InvalidServerCA", "DER"},
		"a CA of the secret that is none":            {cluster(), data(keyKubeconfig, "k", keyServerCA, "nonsense"), "InvalidServerCA", `key "apiServerCA" of secret fleet-default/kubeconfig`},
		"a CA of the secret that is none, beside the system's": {cluster(), func(f *facts) {
			data(keyKubeconfig, "k", keyServerCA, "\n")(f)
			f.config.AgentTLSMode = config.TLSSystemStore
		}, "InvalidServerCA", "fleet-default/kubeconfig"},
		"no TLS mode":         {cluster(), conf(func(c *config.Config) { c.AgentTLSMode = "" }), "InvalidTLSMode", "system-store"},
		"an unknown TLS mode": {cluster(), conf(func(c *config.Config) { c.AgentTLSMode = "trust-me" }), "InvalidTLSMode", "trust-me"},
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

func derOf(ca []byte) []byte {
	block, _ := pem.Decode(ca)
	return block.Bytes
}

// A target that is known is one that an agent takes: what keeps it from being known is what the agent's own trust refuses.
func TestAnAgentIsGivenTheCAsThatItsTrustAccepts(t *testing.T) {
	der := derOf(caOf("x"))
	for name, ca := range map[string][]byte{
		"none": nil, "one": caOf("x"), "two": append(caOf("x"), caOf("y")...), "one with words around it": append([]byte("# the hub's\n"), caOf("x")...),
		"one and a half": append(caOf("x"), caOf("y")[:100]...), "half of one": caOf("x")[:100], "words": []byte("words"), "blank": []byte("\n"), "DER": der,
		"a block that is no certificate": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}),
		"another block":                  pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"a certificate with headers":     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: der}),
	} {
		for _, mode := range []string{config.TLSStrict, config.TLSSystemStore} {
			for _, where := range []string{"configuration", "secret"} {
				_, problem := effectiveTarget(factsOf(cluster(), func(f *facts) {
					f.config.AgentTLSMode, f.config.APIServerCA = mode, ca
					if where == "secret" {
						f.secret.Data[keyServerCA], f.config.APIServerCA = ca, nil
					}
				}))
				refused := kube.WithTrust(&rest.Config{Host: hubURL}, mode, ca)
				assert.Equal(t, refused != nil, problem != nil, "%s in the %s, %s: %v", name, where, mode, refused)
			}
		}
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
		"NoServerCA":           func(f *facts) { f.config.APIServerCA = nil },
	}
	silent := is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now)
	for reason, change := range missing {
		assert.Equal(t, plan{}, decide(factsOf(cluster(imported), change)), reason)
		assert.Equal(t, reason, decide(factsOf(cluster(imported, silent), change)).reason)
		assert.Equal(t, reason, decide(factsOf(cluster(imported, recorded(lastImport(cluster(), superseded))), change)).reason, "its token is gone")
		assert.Equal(t, reason, decide(factsOf(cluster(), change)).reason)
	}
	p := decide(factsOf(cluster(imported), func(f *facts) { f.config.AgentTLSMode = "x" }))
	assert.Equal(t, "InvalidTLSMode", p.reason, "a wrong setting does not pass by itself")
	p = decide(factsOf(cluster(imported), func(f *facts) { f.config.APIServerCA = []byte("x") }))
	assert.Equal(t, await, p.action, "the agent keeps the CA that works")
	assert.Equal(t, "InvalidServerCA", p.reason)
}
