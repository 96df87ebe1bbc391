package register

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// R16: whatever the ConfigMap holds, the agent lives, and trusts as one of the two modes says.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", "[]", `{"labels":null}`, `{"labels":{"a":1}}`, `{"clientID":{}}`, `{"agentTLSMode":"strict"}`,
		`{"garbageCollectionInterval":"1"}`, "a: &a [*a]",
	} {
		f.Add(seed, "")
		f.Add("", seed)
	}
	f.Add("{}", `{"envVars":[{"name":"HTTP_PROXY","value":"x"}],"hostNetwork":true}`)
	f.Fuzz(func(t *testing.T, document, options string) {
		s, _, err := readSettings(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: document, optionsKey: options}})
		if err == nil && s.TLSMode != config.TLSStrict && s.TLSMode != config.TLSSystemStore {
			t.Fatalf("TLS mode %q", s.TLSMode)
		}
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
	f.Fuzz(func(t *testing.T, document, url, ca, namespace []byte) {
		meta := metav1.ObjectMeta{Namespace: agentNamespace, Name: "secret"}
		for _, data := range []map[string][]byte{
			{registration.KeyValues: document},
			{
				registration.KeyAPIServerURL: url, registration.KeyAPIServerCA: ca, registration.KeyClusterNamespace: namespace,
				registration.KeyToken: document, registration.KeySystemRegistrationNamespace: namespace,
			},
		} {
			if o, err := newOrder(&corev1.Secret{ObjectMeta: meta, Data: data}, settings{TLSMode: config.TLSSystemStore}, clusterUID); err == nil {
				if err := hub.Check(o.kubeconfig, config.TLSSystemStore); err != nil {
					t.Fatal(err)
				}
			}
		}
		c, err := readStored(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{
			registration.KeyKubeconfig: document, registration.KeyDeploymentNamespace: namespace,
			registration.KeyClusterNamespace: namespace, registration.KeyClusterName: namespace,
		}})
		if err == nil && c.token == "" {
			t.Fatal("a credential without a token")
		}
	})
}
