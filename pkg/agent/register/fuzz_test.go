package register

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// R16: whatever the ConfigMap holds, the agent lives, and trusts as one of the two modes says, or its kubeconfig.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"labels":null}`, `{"labels":{"a":1}}`, `{"clientID":{}}`, `{"agentTLSMode":"strict"}`,
		`{"garbageCollectionInterval":"1"}`, "a: &a [*a]",
	} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Add("{}", `{"envVars":[{"name":"HTTP_PROXY","value":"x"}],"hostNetwork":true}`)
	f.Add(`{"agentTLSMode":"\u001b[2J`+strings.Repeat("x", 5000)+`"}`, strings.Repeat("[", 5000))
	f.Add("agentTLSMode: strict\nagentTLSMode: off", `{"tolerations":[{"tolerationSeconds":1e30}],"resources":{"limits":{"cpu":"-1e99"}}}`)
	f.Add("{labels: {\"\": \"\", a/b/c: ~}, clientID: \"../..\"}", `{"envVars":[null],"affinity":{"nodeAffinity":[]},"pullSecrets":null}`)
	f.Fuzz(func(t *testing.T, document, options string) {
		s, warnings, err := readSettings(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: names.AgentConfigMap},
			Data:       map[string]string{names.ConfigKey: document, optionsKey: options},
		})
		for _, warning := range warnings {
			checkText(t, warning, "")
		}
		if err != nil {
			checkText(t, err.Error(), "ConfigMap "+agentNamespace+"/"+names.AgentConfigMap)
			return
		}
		if s.TLSMode != "" && s.TLSMode != config.TLSStrict && s.TLSMode != config.TLSSystemStore {
			t.Fatalf("TLS mode %q", s.TLSMode)
		}
		if len(options) > maxOptions && s.Options != nil {
			t.Fatal("options of any size are taken")
		}
	})
}

// checkText holds for what goes into logs and Events of the agent: it is about something, and can be shown.
func checkText(t *testing.T, text, about string) {
	t.Helper()
	require.Contains(t, text, about)
	require.Less(t, len(text), 4000)
	require.Less(t, strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == unicode.ReplacementChar }), 0, "%q", text)
}

// requireKept: no error tells the token of a seed, unless it was put into a field that is no secret as well.
func requireKept(t *testing.T, err error, fields ...[]byte) {
	t.Helper()
	const secret = "VERY-SECRET"
	if !bytes.Contains(bytes.Join(fields, nil), []byte(secret)) {
		require.NotContains(t, err.Error(), secret)
	}
}

// The agent's pod may have any name, and its request a label of it.
func FuzzHostLabel(f *testing.F) {
	for _, seed := range []string{"", "fleet-agent-0", "-_.", "\xff\xfe", strings.Repeat("ä", 40) + "b", strings.Repeat("-", 70) + "a", "a\n" + strings.Repeat(".", 70), "日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		got := labelValue(host)
		require.Empty(t, validation.IsValidLabelValue(got), "%q makes %q", host, got)
		require.Equal(t, got, labelValue(got), "once is enough")
	})
}

// Whatever was written down before a crash, an attempt is resumed as it was begun, or another one is made.
func FuzzAttempt(f *testing.F) {
	f.Add([]byte("request-x"), []byte("random"), []byte("digest"), []byte(strings.Repeat("k", 32)))
	f.Add([]byte("../x"), []byte("\xff"), []byte(nil), []byte("short"))
	f.Add([]byte(nil), []byte(nil), []byte("digest"), []byte(nil))
	f.Add([]byte(strings.Repeat("a", 300)), []byte("a b"), []byte("digest"), make([]byte, 32))
	f.Fuzz(func(t *testing.T, name, random, digest, private []byte) {
		begun := attemptOf(map[string][]byte{
			registration.KeyRequest: name, registration.KeyClientRandom: random, registration.KeyBootstrapDigest: digest,
		})
		require.Equal(t, attempt{Request: string(name), ClientRandom: string(random), Order: string(digest)}, begun)
		id, err := registration.IdentityFrom(private)
		if err != nil {
			return
		}
		o, err := newOrder(bootstrapSecret(func(*registration.Bootstrap) {}), settings{TLSMode: config.TLSSystemStore}, clusterUID)
		require.NoError(t, err)
		made := request(o, begun, id, self{Hostname: string(name), Version: "v1"})
		if err := registration.ValidateRequest(made); err != nil {
			checkText(t, err.Error(), "")
			return
		}
		require.Empty(t, validation.IsValidLabelValue(made.Spec.ClusterLabels[names.CreatedByAgentPodLabel]))
	})
}

// Whatever the agent's Secrets hold, it is an error that names the Secret, or something that can be dialled.
func FuzzSecrets(f *testing.F) {
	good := registration.Bootstrap{
		APIServerURL: "https://hub.example.com", ClusterNamespace: "fleet-default", Token: "token", TokenName: "name",
		SystemRegistrationNamespace: "cattle-fleet-clusters-system",
	}
	values, err := good.Values()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(values, []byte(good.APIServerURL), []byte(""), []byte(good.ClusterNamespace))
	f.Add([]byte("apiVersion: v1\nkind: Config\ncurrent-context: a"), []byte("hub"), []byte("-----BEGIN CERTIFICATE-----"), []byte("../x"))
	f.Add([]byte("VERY-SECRET-TOKEN-VALUE\r\nX: y"), []byte("https://hub?a=b"), []byte{0xff}, []byte("\x1b[2J"))
	f.Add([]byte("token: VERY-SECRET-TOKEN-VALUE\nclusterNamespace: [1]"), []byte("https://"+strings.Repeat("h", 5000)), []byte("\n"), []byte(strings.Repeat("n", 254)))
	f.Add([]byte(strings.Repeat("[", 5000)), []byte("https://\u202ehub"), []byte("ca"), []byte("null"))
	f.Fuzz(func(t *testing.T, document, url, ca, namespace []byte) {
		meta := metav1.ObjectMeta{Namespace: agentNamespace, Name: "secret"}
		for _, data := range []map[string][]byte{
			{registration.KeyValues: document},
			{
				registration.KeyAPIServerURL: url, registration.KeyAPIServerCA: ca, registration.KeyClusterNamespace: namespace,
				registration.KeyToken: document, registration.KeySystemRegistrationNamespace: namespace,
			},
		} {
			o, err := newOrder(&corev1.Secret{ObjectMeta: meta, Data: data}, settings{TLSMode: config.TLSSystemStore}, clusterUID)
			if err != nil {
				checkText(t, err.Error(), "Secret "+agentNamespace+"/secret")
				requireKept(t, err, url, ca, namespace)
				continue
			}
			require.NoError(t, hub.Check(o.kubeconfig, config.TLSSystemStore), "it can be dialled")
		}
		c, err := readStored(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{
			registration.KeyKubeconfig: document, registration.KeyDeploymentNamespace: namespace,
			registration.KeyClusterNamespace: namespace, registration.KeyClusterName: namespace,
		}})
		if err != nil {
			checkText(t, err.Error(), "Secret "+agentNamespace+"/secret")
			requireKept(t, err, url, ca, namespace)
			return
		}
		require.NotEmpty(t, c.token)
		again, err := readStored(&corev1.Secret{ObjectMeta: meta, Data: c.data()})
		require.NoError(t, err)
		require.Equal(t, c, again, "what is stored is read again")
	})
}
