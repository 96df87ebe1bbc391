package register

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func bootstrapSecret(change func(*registration.Bootstrap)) *corev1.Secret {
	b := registration.Bootstrap{
		APIServerURL: "https://hub.example.com", ClusterNamespace: "fleet-default", Token: "no-jwt", TokenName: "token",
		SystemRegistrationNamespace: "cattle-fleet-clusters-system",
	}
	change(&b)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: names.AgentBootstrapSecret}, Data: b.SecretData(),
	}
}

func mustOrder(t *testing.T, s settings, change func(*registration.Bootstrap)) order {
	t.Helper()
	o, err := newOrder(bootstrapSecret(change), s, clusterUID)
	require.NoError(t, err)
	return o
}

func TestAnOrderIsNamedByEverythingThatMattersToIt(t *testing.T) {
	system := settings{TLSMode: "system-store"}
	same := func(*registration.Bootstrap) {}
	o := mustOrder(t, system, same)
	assert.Equal(t, o.digest, mustOrder(t, system, same).digest)
	assert.Equal(t, o.digest, mustOrder(t, system, func(b *registration.Bootstrap) { b.Token += "\n" }).digest, "white space is nothing")
	for name, change := range map[string]func(*registration.Bootstrap){
		"url":        func(b *registration.Bootstrap) { b.APIServerURL += "/k8s" },
		"workspace":  func(b *registration.Bootstrap) { b.ClusterNamespace = "other" },
		"token":      func(b *registration.Bootstrap) { b.Token = "other" },
		"token name": func(b *registration.Bootstrap) { b.TokenName = "other" },
		"namespace":  func(b *registration.Bootstrap) { b.SystemRegistrationNamespace = "other" },
	} {
		assert.NotEqual(t, o.digest, mustOrder(t, system, change).digest, name)
	}
	other := mustOrder(t, settings{TLSMode: "system-store", ClientID: "mine"}, same)
	assert.NotEqual(t, o.digest, other.digest, "another client ID is another request")
	labelled := mustOrder(t, settings{TLSMode: "system-store", Labels: map[string]string{"a": "b"}}, same)
	assert.Equal(t, o.digest, labelled.digest)
	assert.NotEqual(t, o.key, labelled.key, "other settings restart the handshake")
}

func TestARequestWithoutAJWTNamesNoRequester(t *testing.T) {
	o := mustOrder(t, settings{TLSMode: "system-store"}, func(*registration.Bootstrap) {})
	id, err := registration.NewIdentity()
	require.NoError(t, err)
	a, err := newAttempt(strings.NewReader(strings.Repeat("random bytes", 1000)), o.digest)
	require.NoError(t, err)
	req := request(o, a, id, self{Hostname: "pod"})
	assert.Empty(t, req.Spec.Identity.Requester)
	assert.NoError(t, registration.ValidateRequest(req))
	assert.Empty(t, binding(o, a, id, "hub").ImportAccountUID)
}

func TestEveryHostNameBecomesALabelValue(t *testing.T) {
	for host, want := range map[string]string{
		"":                             "",
		"fleet-agent-6c9f-x2x":         "fleet-agent-6c9f-x2x",
		"Host.Example.COM":             "Host.Example.COM",
		"-host-":                       "host",
		"höst":                         "h-st",
		"a b/c":                        "a-b-c",
		"...":                          "",
		strings.Repeat("a", 80):        strings.Repeat("a", 63),
		strings.Repeat("a", 62) + "-b": strings.Repeat("a", 62),
	} {
		got := labelValue(host)
		assert.Equal(t, want, got)
		assert.Empty(t, validation.IsValidLabelValue(got), host)
	}
}

func TestAMissingConfigurationChangesNoTrust(t *testing.T) {
	s := NewSupervisor(Config{Namespace: agentNamespace, Recorder: &events{}})
	s.observeConfig(nil)
	assert.Equal(t, settings{}, *s.settings, "nobody says a mode")
	s.observeConfig(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: `{"agentTLSMode":"strict","clientID":"mine"}`}})
	s.observeConfig(nil)
	assert.Equal(t, settings{TLSMode: "strict", ClientID: "mine"}, *s.settings)
}

func TestSettingsThatCannotBeReadAreAnErrorAndTellNothing(t *testing.T) {
	for name, document := range map[string]string{
		"no mapping": "[", "a list": "[1]", "a TLS mode that is none": `{"agentTLSMode":"sometimes"}`, "labels of another type": `{"labels":[1]}`,
	} {
		_, _, err := readSettings(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: names.AgentConfigMap},
			Data:       map[string]string{names.ConfigKey: document},
		})
		assert.ErrorContains(t, err, "ConfigMap "+agentNamespace+"/"+names.AgentConfigMap, name)
	}
	_, warnings, err := readSettings(&corev1.ConfigMap{Data: map[string]string{optionsKey: `{"envVars":"http://user:secret@proxy"}`}})
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	assert.NotContains(t, warnings[0], "secret@")
}

func TestAStoredCredentialThatCannotBeUsedNamesTheKey(t *testing.T) {
	o := mustOrder(t, settings{TLSMode: "system-store"}, func(*registration.Bootstrap) {})
	good, err := newStored(o, registration.Credential{DeploymentNamespace: "ns", ClusterNamespace: "ws", ClusterName: "c"}, "token")
	require.NoError(t, err)
	for key, value := range map[string]string{
		registration.KeyKubeconfig: "{", registration.KeyDeploymentNamespace: "", registration.KeyClusterNamespace: "../x", registration.KeyClusterName: "a b",
	} {
		data := good.data()
		data[key] = []byte(value)
		_, err := readStored(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: names.AgentCredentialStore}, Data: data})
		assert.ErrorContains(t, err, key)
	}
	read, err := readStored(&corev1.Secret{Data: good.data()})
	require.NoError(t, err)
	assert.Equal(t, good, read)
}
