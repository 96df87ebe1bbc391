package clusterimport

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestTheFirstImport(t *testing.T) {
	h, d := importing(t)

	h.work1(t)
	assert.Equal(t, []string{createToken}, h.writes())
	assert.Empty(t, d.Requests(), "nothing is asked of the cluster before there is something to give")

	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, []string{noteRecord, noteStatus}, h.writes(), "the record first: the agent's request is known by it")
	token := h.tokens.Live(workspace, tokenName)
	r := record(t, h)
	assert.Equal(t, registration.Import{
		TokenUID: string(token.UID), AccountUID: "account-of-" + string(token.UID), ClusterUID: d.uid, Namespace: system,
		Kubeconfig: digest(d.kubeconfig), Generation: r.Generation, Time: now,
	}, r)
	status := h.cluster().Status
	assert.Equal(t, int64(0), *status.AgentDeployedGeneration)
	assert.True(t, status.AgentMigrated && status.AgentNamespaceMigrated && status.CattleNamespaceMigrated)
	assert.Equal(t, []any{hubURL, caHash(caOf("the hub's CA")), "strict"}, []any{status.APIServerURL, status.APIServerCAHash, status.AgentTLSMode})
	assert.Nil(t, status.GarbageCollectionInterval)
	assert.True(t, conditions.IsTrue(status.Conditions, fleet.ClusterConditionImported))

	d.Reset()
	h.work1(t)
	assert.Empty(t, h.writes(), "until the agent has had its time nothing more is to be done")
	assert.Empty(t, d.Requests())
}

func TestTheAgentIsSetGoingLast(t *testing.T) {
	_, whole := joined(t)
	assert.Equal(t, []string{
		"ClusterRole /cattle-fleet-system-fleet-agent-role", "ClusterRoleBinding /cattle-fleet-system-fleet-agent-role-binding",
		"ConfigMap cattle-fleet-system/fleet-agent", "Deployment cattle-fleet-system/fleet-agent", "Namespace /cattle-fleet-system",
		"NetworkPolicy cattle-fleet-system/default-allow-all", "Secret cattle-fleet-system/fleet-agent-bootstrap",
		"ServiceAccount cattle-fleet-system/default", "ServiceAccount cattle-fleet-system/fleet-agent",
	}, whole.objects())

	h, d := importing(t)
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	writes := d.Writes()
	assert.Equal(t, "/api/v1/namespaces", writes[0].Path)
	assert.Equal(t, "/api/v1/namespaces/cattle-fleet-system/secrets", writes[len(writes)-1].Path)
	for _, w := range writes {
		assert.NotEqual(t, "delete", w.Verb, "apply over, remove last (A07)")
	}

	secret := d.Object("Secret", system, "fleet-agent-bootstrap")
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	require.NoError(t, err)
	b, err := registration.ParseBootstrap(decoded(t, data))
	require.NoError(t, err)
	assert.Equal(t, hubURL, b.APIServerURL)
	assert.Equal(t, caOf("the hub's CA"), b.APIServerCA)
	assert.Equal(t, tokenName, b.TokenName)
	assert.Equal(t, hubNames().Registration, b.SystemRegistrationNamespace)
	for annotation := range secret.GetAnnotations() {
		assert.NotContains(t, annotation, "objectset", "the engine would repeat the token's first bytes")
	}
}

// A02: the pod carries the same generation that the record has and that the bundle computes, so that adoption restarts nothing.
func TestTheAgentCarriesTheGenerationOfTheRecord(t *testing.T) {
	h, d := joined(t)
	options, _, err := agentmanifest.Effective(h.cluster(), settings(h.source.Get()))
	require.NoError(t, err)
	want := agentmanifest.Generation(options)
	assert.Equal(t, want, record(t, h).Generation)
	raw, err := d.Object("Deployment", system, "fleet-agent").MarshalJSON()
	require.NoError(t, err)
	assert.Contains(t, string(raw), `{"name":"GENERATION","value":"`+want+`"}`)
}

func TestTheAgentsConfigMap(t *testing.T) {
	h, d := importing(t)
	h.change(t, func(c *fleet.Cluster) {
		c.Labels = map[string]string{"env": "prod", "management.cattle.io/cluster-display-name": "x", "kubectl.kubernetes.io/y": "z"}
	})
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	text, _, err := unstructured.NestedString(d.Object("ConfigMap", system, "fleet-agent").Object, "data", "config")
	require.NoError(t, err)
	assert.Contains(t, text, `"env":"prod"`)
	assert.Contains(t, text, `"clientID":"client"`)
	assert.Contains(t, text, `"agentTLSMode":"strict"`)
	assert.NotContains(t, text, "cattle.io")
	assert.NotContains(t, text, "kubectl")
}

func TestAnImportHasATokenOfItsOwnAndLeavesTheStoredCredential(t *testing.T) {
	h, d := joined(t)
	d.Put(&corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "fleet-agent"}, Data: map[string][]byte{"kubeconfig": []byte("in use")},
	})
	stored := d.Object("Secret", system, "fleet-agent")
	first := h.tokens.Live(workspace, tokenName).UID
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })

	h.work1(t)
	assert.Equal(t, []string{noteRecord, deleteToken, createToken}, h.writes())
	h.answerToken(t)
	h.work1(t)

	assert.Equal(t, []string{noteStatus, noteRecord, noteStatus}, h.writes())
	assert.NotEqual(t, string(first), record(t, h).TokenUID)
	assert.Equal(t, int64(1), *h.cluster().Status.AgentDeployedGeneration)
	assert.Equal(t, stored, d.Object("Secret", system, "fleet-agent"))
}

func TestASecretOnTheClusterIsWrittenOnlyWhenItDiffers(t *testing.T) {
	h, d := newHub(t), newDownstream(t)
	client, err := h.connect(h.client(t, d))
	require.NoError(t, err)
	defer client.Close()
	want := func(value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"k": []byte(value)}}
	}
	require.NoError(t, writeSecret(t.Context(), client, want("a")))
	foreign := d.Object("Secret", "ns", "s")
	foreign.SetLabels(map[string]string{"somebody": "was-here"})
	d.Put(foreign)
	d.Reset()

	require.NoError(t, writeSecret(t.Context(), client, want("a")))
	assert.Empty(t, d.Writes())

	require.NoError(t, writeSecret(t.Context(), client, want("b")))
	assert.Len(t, d.Writes(), 1)
	assert.Equal(t, "was-here", d.Object("Secret", "ns", "s").GetLabels()["somebody"], "what others added stays")
}

// A kubeconfig that changed leads to the same cluster, to another one, or to one without the agent.
func TestAChangedKubeconfigIsLookedInto(t *testing.T) {
	newToken := func(t *testing.T, h *hub, d *downstream) {
		t.Helper()
		d.kubeconfig = []byte(strings.Replace(string(d.kubeconfig), "a-token", "another-token", 1))
		h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig}))
	}
	t.Run("the same cluster and agent", func(t *testing.T) {
		h, d := joined(t)
		before := record(t, h)
		newToken(t, h, d)
		h.work1(t)
		assert.Equal(t, []string{noteRecord}, h.writes())
		assert.Empty(t, d.Writes(), "nothing is installed")
		before.Kubeconfig = digest(d.kubeconfig)
		assert.Equal(t, before, record(t, h))
		h.work1(t)
		assert.Empty(t, h.writes())
	})
	t.Run("the agent is gone", func(t *testing.T) {
		h, d := joined(t)
		d.Remove("Deployment", system, "fleet-agent")
		newToken(t, h, d)
		h.work1(t)
		assert.Equal(t, []string{noteRecord, deleteToken, createToken}, h.writes())
		h.answerToken(t)
		h.work1(t)
		assert.Contains(t, d.objects(), "Deployment cattle-fleet-system/fleet-agent")
	})
	t.Run("another cluster", func(t *testing.T) {
		h, _ := joined(t)
		other := newDownstream(t)
		other.Remove("Namespace", "", "kube-system")
		other.uid = string(other.Put(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}).GetUID())
		h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: other.kubeconfig}))
		h.work1(t)
		h.answerToken(t)
		h.work1(t)
		assert.Equal(t, other.uid, record(t, h).ClusterUID)
		assert.Contains(t, other.objects(), "Deployment cattle-fleet-system/fleet-agent")
	})
	t.Run("nowhere", func(t *testing.T) {
		h, d := joined(t)
		d.refuse("nothing", 0, "", "")
		h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte(strings.Replace(string(d.kubeconfig), serverOf(string(d.kubeconfig)), "https://127.0.0.1:1", 1))}))
		require.Error(t, h.work(t.Context(), key))
		assert.Equal(t, "Unreachable", h.imported(t).Reason)
		h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig}))
		h.work1(t)
		assert.Equal(t, "Imported", h.imported(t).Reason)
	})
}

// The hub's namespace holds what opens the hub: a name that was mistaken brings it to nobody.
func TestASecretThatPullsNoImagesIsCopiedToNoCluster(t *testing.T) {
	h, d := importing(t)
	secret := func(name string, kind corev1.SecretType, key string) {
		h.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}, Type: kind, Data: map[string][]byte{key: []byte("{}")}})
	}
	secret("old", corev1.SecretTypeDockercfg, corev1.DockerConfigKey)
	secret(names.BootstrapTokenSecret, corev1.SecretTypeServiceAccountToken, corev1.ServiceAccountTokenKey)
	secret("opaque", corev1.SecretTypeOpaque, corev1.DockerConfigJsonKey)
	h.configure(t, map[string]any{"imagePullSecrets": []corev1.LocalObjectReference{{Name: names.BootstrapTokenSecret}, {Name: "opaque"}, {Name: "old"}}})
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	assert.NotNil(t, d.Object("Secret", system, "old"))
	assert.Nil(t, d.Object("Secret", system, names.BootstrapTokenSecret))
	assert.Nil(t, d.Object("Secret", system, "opaque"))
}

// TestAgentWithConfig of the reference: the hub's pull secrets are copied, those of the Cluster are there already.
func TestPullSecretsAreCopiedWhereTheyAreTheHubs(t *testing.T) {
	pull := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{".dockerconfigjson": []byte("{}")},
	}
	for name, test := range map[string]struct {
		own  *[]corev1.LocalObjectReference
		want bool
	}{
		"the hub's":              {nil, true},
		"the Cluster's":          {&[]corev1.LocalObjectReference{{Name: "pull"}}, false},
		"none, says the Cluster": {&[]corev1.LocalObjectReference{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			h.secrets.Add(pull)
			h.configure(t, map[string]any{"imagePullSecrets": []corev1.LocalObjectReference{{Name: "missing"}, {Name: "pull"}}})
			h.change(t, func(c *fleet.Cluster) { c.Spec.AgentPullSecrets = test.own })
			h.work1(t)
			h.answerToken(t)
			h.work1(t)
			if !test.want {
				assert.NotContains(t, d.objects(), "Secret cattle-fleet-system/pull")
				return
			}
			copied := d.Object("Secret", system, "pull")
			require.NotNil(t, copied, "one that is missing keeps no other back")
			assert.Equal(t, string(corev1.SecretTypeDockerConfigJson), copied.Object["type"])
			assert.Empty(t, copied.GetAnnotations())
			assert.Empty(t, copied.GetLabels()[names.ManagedLabel])
		})
	}
}
