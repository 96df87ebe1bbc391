package clusterimport

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	workspace = "fleet-default"
	edge      = "edge"
	key       = workspace + "/" + edge
	edgeUID   = "uid-of-edge"
	tokenUID  = "uid-of-token"
	importUID = "uid-of-import-account"
	hubURL    = "https://hub.example.com"
	hubUID    = "uid-of-the-hub"
	tokenName = "import-token-edge"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hubNames() names.Namespaces { return names.NamespacesOf(names.DefaultSystemNamespace) }

func settings(c config.Config) agentmanifest.Settings {
	base := agentmanifest.Settings{SystemNamespace: names.DefaultSystemNamespace, DefaultImage: "rancher/fleet-agent:v1"}
	return base.WithConfig(c)
}

func testConfig(changes ...func(*config.Config)) config.Config {
	c := config.Default("v1")
	c.APIServerURL, c.APIServerCA, c.AgentTLSMode = hubURL, caOf("the hub's CA"), config.TLSStrict
	for _, f := range changes {
		f(&c)
	}
	return c
}

func cluster(changes ...func(*fleet.Cluster)) *fleet.Cluster {
	c := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: edge, UID: edgeUID, Generation: 1},
		Spec:       fleet.ClusterSpec{ClientID: "client", KubeConfigSecret: "kubeconfig"},
		Status:     fleet.ClusterStatus{Namespace: "cluster-fleet-default-edge"},
	}
	for _, f := range changes {
		f(c)
	}
	return c
}

func is(kind string, value metav1.ConditionStatus, reason string, at time.Time) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		conditions.SetCondition(&c.Status.Conditions, kind, value, reason, "", at)
	}
}

// imported is a Cluster whose agent was put there with the settings of testConfig an hour ago, and is well.
func imported(c *fleet.Cluster) {
	deployed := int64(0)
	c.Status.AgentDeployedGeneration = &deployed
	c.Status.APIServerURL, c.Status.APIServerCAHash, c.Status.AgentTLSMode = hubURL, caHash(caOf("the hub's CA")), config.TLSStrict
	c.Status.Agent.Namespace = names.DefaultSystemNamespace
	for _, kind := range []string{
		fleet.ClusterConditionImported, fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid,
	} {
		is(kind, metav1.ConditionTrue, "Test", now.Add(-59*time.Minute))(c)
	}
	recorded(lastImport(c))(c)
}

// lastImport is the record of an import of the Cluster as it is wanted now.
func lastImport(c *fleet.Cluster, changes ...func(*registration.Import)) registration.Import {
	options, _, _ := agentmanifest.Effective(c, settings(testConfig()))
	record := registration.Import{
		TokenUID: tokenUID, AccountUID: importUID, ClusterUID: "uid-of-downstream", Namespace: options.Namespace,
		Kubeconfig: digest([]byte("a kubeconfig")), Generation: agentmanifest.Generation(options), Time: now.Add(-time.Hour),
	}
	for _, f := range changes {
		f(&record)
	}
	return record
}

func recorded(record registration.Import) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[names.ImportAnnotation] = record.Annotation()
	}
}

func kubeconfigSecret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "kubeconfig", UID: "uid-of-secret", ResourceVersion: "7"}, Data: data}
}

// factsOf is what is known of a Cluster with the configuration of testConfig, a good secret and a living import account.
func factsOf(c *fleet.Cluster, changes ...func(*facts)) facts {
	f := facts{
		cluster: c, config: testConfig(), namespaces: hubNames(), now: now, accountLives: true,
		secretNamespace: registration.KubeconfigSecretNamespace(c), secret: kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig")}),
		imported: c.Status.AgentDeployedGeneration != nil,
	}
	f.record, _ = registration.ImportOf(c.Annotations)
	for _, change := range changes {
		change(&f)
	}
	f.options, _, f.optionsError = agentmanifest.Effective(c, settings(f.config))
	return f
}

// hub is the controller over memory.
type hub struct {
	*handler
	clock    *clocktesting.FakePassiveClock
	clusters *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	tokens   *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
	bundles  *controllertest.Controller[*fleet.Bundle, *fleet.BundleList]
	secrets  *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	accounts *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	source   *config.Source
	fails    map[string]error
	calls    []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	const group = "fleet.cattle.io"
	h := &hub{
		clock:    clocktesting.NewFakePassiveClock(now),
		clusters: controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		tokens:   controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](group, "clusterregistrationtokens"),
		bundles:  controllertest.New[*fleet.Bundle, *fleet.BundleList](group, "bundles"),
		secrets:  controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		accounts: controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		source:   config.NewSource("v1"),
		fails:    map[string]error{},
	}
	deps := Deps{
		Clusters: h.clusters, Tokens: h.tokens, Bundles: h.bundles, Secrets: h.secrets, Accounts: h.accounts,
		Config: h.source, Settings: settings, Names: hubNames(), Clock: h.clock, HubUID: hubUID,
	}
	h.handler = newHandler(deps)
	h.queue = kube.NewQueue("test", 1, time.Second, time.Minute, h.work)
	h.configure(t, nil)
	addIndexers(deps)
	h.tokens.Now = func() time.Time { return h.clock.Now() }
	h.clusters.Fail, h.tokens.Fail, h.bundles.Fail = h.script("Cluster"), h.script("Token"), h.script("Bundle")
	h.secrets.Fail = h.script("Secret")
	return h
}

// configure puts the configuration of testConfig with some changes in force.
func (h *hub) configure(t *testing.T, changes map[string]any) {
	t.Helper()
	document := map[string]any{"apiServerURL": hubURL, "apiServerCA": caOf("the hub's CA"), "agentTLSMode": "strict"}
	for k, v := range changes {
		document[k] = v
	}
	raw, err := json.Marshal(document)
	require.NoError(t, err)
	loaded, err := h.source.Load(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "v1"}},
		Data:       map[string]string{names.ConfigKey: string(raw)},
	})
	require.NoError(t, err)
	require.Empty(t, loaded.Ignored)
	require.Empty(t, loaded.Warnings)
}

func (h *hub) script(kind string) func(verb, key string) error {
	return func(verb, key string) error {
		call := verb + " " + kind + " " + key
		if verb != "get" {
			h.calls = append(h.calls, call)
		}
		return h.fails[call]
	}
}

// writes are the calls that change something, in their order, since the last time this was asked.
func (h *hub) writes() []string {
	calls := h.calls
	h.calls = nil
	return calls
}

func (h *hub) cluster() *fleet.Cluster { return h.clusters.Live(workspace, edge) }

func (h *hub) imported(t *testing.T) genericcondition.GenericCondition {
	t.Helper()
	c := conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionImported)
	require.NotNil(t, c)
	return *c
}

// change changes the Cluster as somebody else would.
func (h *hub) change(t *testing.T, f func(*fleet.Cluster)) {
	t.Helper()
	c := h.cluster()
	f(c)
	_, err := h.clusters.Update(c)
	require.NoError(t, err)
	h.writes()
}

// answerToken does what the controller of tokens does: it makes the account and the values of the import token.
func (h *hub) answerToken(t *testing.T) {
	t.Helper()
	token := h.tokens.Live(workspace, tokenName)
	require.NotNil(t, token)
	h.answerTokenOf(t, token)
}

func (h *hub) answerTokenOf(t *testing.T, token *fleet.ClusterRegistrationToken) {
	t.Helper()
	uid := "account-of-" + string(token.UID)
	h.accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Registration, Name: names.Account(token.Name, string(token.UID)), UID: types.UID(uid),
		Annotations: map[string]string{names.OwnerAnnotation: "ClusterRegistrationToken/" + workspace + "/" + token.Name + "/" + string(token.UID)},
	}})
	h.secrets.Add(valuesOf(t, token, jwt(uid)))
}

func valuesOf(t *testing.T, token *fleet.ClusterRegistrationToken, jwt string) *corev1.Secret {
	t.Helper()
	document, err := registration.Bootstrap{
		APIServerURL: "https://the-configured-one.example.com", ClusterNamespace: workspace, Token: jwt, TokenName: token.Name,
		SystemRegistrationNamespace: hubNames().Registration,
	}.Values()
	require.NoError(t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workspace, Name: token.Name,
			OwnerReferences: []metav1.OwnerReference{{Kind: "ClusterRegistrationToken", Name: token.Name, UID: token.UID}},
		},
		Type: names.ValuesSecretType,
		Data: map[string][]byte{registration.KeyValues: document},
	}
}

func jwt(accountUID string) string {
	claims, _ := json.Marshal(map[string]any{
		"sub": "system:serviceaccount:clusters:a", "kubernetes.io": map[string]any{"serviceaccount": map[string]string{"name": "a", "uid": accountUID}},
	})
	return "eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString(claims) + ".c2ln"
}

// connectedNow is what the hub knows once the agent has reported.
func connectedNow(h *hub) func(*fleet.Cluster) {
	return func(c *fleet.Cluster) {
		at := h.clock.Now().Add(time.Second)
		for _, kind := range []string{fleet.ClusterConditionRegistered, fleet.ClusterConditionAgentConnected, fleet.ClusterConditionCredentialValid} {
			is(kind, metav1.ConditionTrue, "Test", at)(c)
		}
		if record, ok := registration.ImportOf(c.Annotations); ok {
			c.Status.Agent.Namespace = record.Namespace
		}
	}
}
