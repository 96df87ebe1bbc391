package preflight

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// isHub gives a server the kinds of a hub.
func isHub(a *api) {
	a.user = "system:serviceaccount:cattle-fleet-clusters-system:edge"
	a.objects["/apis/fleet.cattle.io/v1alpha1"] = &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "fleet.cattle.io/v1alpha1",
		APIResources: []metav1.APIResource{{Name: "clusters"}, {Name: "clusterregistrations"}},
	}
}

func TestGoodValuesPass(t *testing.T) {
	ca := newAuthority(t, "hub-ca", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub)

	report := look(t, values(t, server.URL, ca.pem, importToken(young), map[string]any{"agentTLSMode": "strict", "labels": map[string]any{"env": "prod"}}), Options{})

	assert.Empty(t, results(report))
	assert.Equal(t, KindValues, report.Input)
	assert.Equal(t, server.URL, report.Address)
	var made []string
	for _, c := range report.Checks {
		made = append(made, c.Name)
	}
	assert.Equal(t, []string{
		CheckInput, CheckCA, CheckProxy, CheckDNS, CheckConnect, CheckTLS, CheckAnswer, CheckClock, CheckToken,
		CheckAuthentication, CheckHub, CheckPermissions, CheckVersion, CheckCluster,
	}, made)
	assert.Contains(t, check(t, report, CheckToken).Found, "cattle-fleet-clusters-system:edge")
	assert.Equal(t, Skipped, check(t, report, CheckCluster).Result)
	server.requests.Range(func(key, _ any) bool {
		request := key.(string)
		assert.True(t, strings.HasPrefix(request, "GET ") || strings.HasSuffix(request, "reviews"), "nothing is written: %s", request)
		return true
	})
}

func TestWhatCanBeWrongWithValues(t *testing.T) {
	ca, other := newAuthority(t, "hub-ca", young), newAuthority(t, "other", young)
	server := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub)
	noHub := newAPI(t, ca.pair(t, young, "127.0.0.1"))
	over := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub, func(a *api) { a.token = "another" })
	mayNot := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub, func(a *api) {
		a.may = func(s authorizationv1.SelfSubjectAccessReviewSpec) bool { return s.ResourceAttributes.Verb != "create" }
	})
	halfWay := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub, func(a *api) {
		a.may = func(s authorizationv1.SelfSubjectAccessReviewSpec) bool { return s.ResourceAttributes.Verb == "create" }
	})
	good := importToken(young)
	for title, test := range map[string]struct {
		document []byte
		check    string
		want     Result
		says     string
	}{
		"no address":             {values(t, "", ca.pem, good, nil), CheckInput, Failed, "apiServerURL"},
		"a plain address":        {values(t, "http://hub", ca.pem, good, nil), CheckInput, Failed, "https"},
		"no token":               {values(t, server.URL, ca.pem, "", nil), CheckInput, Failed, `"token" is empty`},
		"the token is elsewhere": {values(t, server.URL, ca.pem, "", map[string]any{"existingSecret": "fleet-agent-bootstrap"}), CheckInput, Failed, "existingSecret"},
		"a proxy that is a list": {values(t, server.URL, ca.pem, good, map[string]any{"proxy": []any{secretText}}), CheckInput, Failed, "another type"},
		"an unknown mode":        {values(t, server.URL, ca.pem, good, map[string]any{"agentTLSMode": "lenient"}), CheckInput, Failed, `"lenient"`},
		"a CA that is none":      {values(t, server.URL, []byte("nonsense"), good, nil), CheckCA, Failed, "no certificate"},
		"strict without a CA":    {values(t, server.URL, nil, good, map[string]any{"agentTLSMode": "strict"}), CheckCA, Failed, "none is given"},
		"another CA":             {values(t, server.URL, other.pem, good, nil), CheckTLS, Failed, "not trusted"},
		"no CA":                  {values(t, server.URL, nil, good, nil), CheckTLS, Failed, "the system's roots"},
		"a token that is over":   {values(t, over.URL, ca.pem, importToken(ended), nil), CheckToken, Failed, "it ended at"},
		"a refused token":        {values(t, over.URL, ca.pem, good, nil), CheckAuthentication, Failed, "401"},
		"a token that is opaque": {values(t, server.URL, ca.pem, secretText, nil), CheckToken, OK, "no JWT"},
		"no hub":                 {values(t, noHub.URL, ca.pem, good, nil), CheckHub, Failed, "no hub"},
		"no right":               {values(t, mayNot.URL, ca.pem, good, nil), CheckPermissions, Failed, "may not ask for a registration in workspace fleet-default"},
		"half the rights":        {values(t, halfWay.URL, ca.pem, good, nil), CheckPermissions, Warning, "register on clusterregistrationtokens"},
	} {
		t.Run(title, func(t *testing.T) {
			c := check(t, look(t, test.document, Options{}), test.check)
			assert.Equal(t, test.want, c.Result, "%+v", c)
			assert.Contains(t, c.Found, test.says)
		})
	}
}

// What to do about a token is said in the commands that make one.
func TestARemedyForATokenNamesTheCommands(t *testing.T) {
	ca := newAuthority(t, "hub-ca", young)
	over := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub, func(a *api) { a.token = "another" })
	mayNot := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub, func(a *api) {
		a.may = func(authorizationv1.SelfSubjectAccessReviewSpec) bool { return false }
	})
	for title, c := range map[string]Check{
		"refused":   check(t, look(t, values(t, over.URL, ca.pem, importToken(young), nil), Options{}), CheckAuthentication),
		"over":      check(t, look(t, values(t, over.URL, ca.pem, importToken(ended), nil), Options{}), CheckToken),
		"no rights": check(t, look(t, values(t, mayNot.URL, ca.pem, importToken(young), nil), Options{}), CheckPermissions),
		"missing":   check(t, look(t, values(t, mayNot.URL, ca.pem, "", nil), Options{}), CheckInput),
	} {
		assert.Contains(t, c.Remedy, "fleet token values NAME > values.yaml", title)
	}
}

// other is a config for the cluster that is to join, or for the hub, as kubectl would use it.
func other(server *api, ca *authority) *rest.Config {
	return &rest.Config{Host: server.URL, BearerToken: secretText, TLSClientConfig: rest.TLSClientConfig{CAData: ca.pem}}
}

func TestTheClusterThatIsToJoinIsLookedAtToo(t *testing.T) {
	ca := newAuthority(t, "ca", young)
	hub := newAPI(t, ca.pair(t, young, "127.0.0.1"), isHub)
	document := values(t, hub.URL, ca.pem, importToken(young), nil)
	now := metav1.NewTime(time.Now())
	namespace := func(deleted *metav1.Time) *corev1.Namespace {
		return &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: agentNamespace, DeletionTimestamp: deleted},
		}
	}
	const place = "/api/v1/namespaces/" + agentNamespace
	agent := func(address string) func(*api) { return func(a *api) { addAgent(t, a, ca, address) } }
	for title, test := range map[string]struct {
		change func(*api)
		want   map[string]Result
		check  string
		says   string
	}{
		"an empty cluster":  {func(*api) {}, map[string]Result{}, CheckClusterNamespace, "--create-namespace"},
		"a namespace":       {func(a *api) { a.objects[place] = namespace(nil) }, map[string]Result{}, CheckClusterNamespace, "exists"},
		"one that is going": {func(a *api) { a.objects[place] = namespace(&now) }, map[string]Result{CheckClusterNamespace: Failed}, CheckClusterNamespace, "being deleted"},
		"an old cluster":    {func(a *api) { a.version = `{"major":"1","minor":"29+","gitVersion":"v1.29.3-eks"}` }, map[string]Result{CheckClusterVersion: Failed}, CheckClusterVersion, "v1.29.3-eks"},
		"another's agent":   {agent("https://other.example.com"), map[string]Result{CheckClusterAgent: Warning}, CheckClusterAgent, "reports to https://other.example.com as ws/edge"},
		"our agent":         {agent(hub.URL + "/"), map[string]Result{}, CheckClusterAgent, "this hub's"},
		"what an import left": {func(a *api) {
			a.objects["/apis/networking.k8s.io/v1/namespaces/"+agentNamespace+"/networkpolicies/default-allow-all"] = allowAll(nil)
		}, map[string]Result{CheckClusterObjects: Failed}, CheckClusterObjects, "NetworkPolicy default-allow-all"},
		"what the chart left": {func(a *api) {
			a.objects["/apis/networking.k8s.io/v1/namespaces/"+agentNamespace+"/networkpolicies/default-allow-all"] = allowAll(map[string]string{
				"meta.helm.sh/release-name": "fleet-agent", "meta.helm.sh/release-namespace": agentNamespace,
			})
		}, map[string]Result{}, CheckClusterObjects, "nothing is in the way"},
		"no rights": {func(a *api) { a.may = func(authorizationv1.SelfSubjectAccessReviewSpec) bool { return false } },
			map[string]Result{CheckClusterPermissions: Failed}, CheckClusterPermissions, "create on namespaces"},
		"no account": {func(a *api) { a.token = "another" }, map[string]Result{CheckClusterAuthentication: Failed}, CheckClusterAuthentication, "401"},
		"no answer": {func(a *api) {
			a.before = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true }
		}, map[string]Result{CheckClusterAnswer: Failed}, CheckClusterAnswer, "502"},
	} {
		t.Run(title, func(t *testing.T) {
			cluster := newAPI(t, ca.pair(t, young, "127.0.0.1"), test.change)
			report := look(t, document, Options{Other: other(cluster, ca)})
			assert.Equal(t, test.want, results(report))
			assert.Contains(t, check(t, report, test.check).Found, test.says)
		})
	}
}

// allowAll is the agent's NetworkPolicy, of a release if it has annotations.
func allowAll(annotations map[string]string) *networkingv1.NetworkPolicy {
	p := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "default-allow-all", Annotations: annotations},
	}
	if annotations != nil {
		p.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	return p
}

// The Cluster that a mark names may be gone from the hub meanwhile.
func TestTheHubIsAskedWhetherItStillHasTheClusterOfAnAgent(t *testing.T) {
	const hubUID, clusterUID = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	ca := newAuthority(t, "ca", young)
	system := func(uid string) *corev1.Namespace {
		return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID(uid)}}
	}
	owner := registration.AgentOwner{Hub: hubUID, Cluster: clusterUID, Namespace: "ws", Name: "edge"}
	cluster := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) {
		ns := system("")
		ns.Name, ns.Annotations = agentNamespace, map[string]string{names.AgentOwnerAnnotation: owner.Annotation()}
		a.objects["/api/v1/namespaces/"+agentNamespace] = ns
	})
	for title, test := range map[string]struct {
		uid  string
		want Result
	}{
		"there": {clusterUID, Warning}, "gone": {"", OK}, "another by its name": {hubUID, OK},
	} {
		hub := newAPI(t, ca.pair(t, young, "127.0.0.1"), func(a *api) {
			a.objects["/api/v1/namespaces/kube-system"] = system(hubUID)
			a.objects["/api/v1/namespaces/cattle-fleet-system/configmaps/fleet-controller"] = &corev1.ConfigMap{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"config": `{"apiServerURL":"https://hub"}`},
			}
			if test.uid != "" {
				a.objects["/apis/fleet.cattle.io/v1alpha1/namespaces/ws/clusters/edge"] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(test.uid)}}
			}
		})
		c := check(t, look(t, kubeconfig(t, cluster.URL, ca.pem), Options{Other: other(hub, ca)}), CheckAgent)
		assert.Equal(t, test.want, c.Result, "%s: %+v", title, c)
	}
}

// addAgent puts an agent onto a cluster that reports to a hub.
func addAgent(t *testing.T, a *api, ca *authority, hub string) {
	t.Helper()
	credential, err := kube.BuildKubeconfig(hub, ca.pem, secretText, "ns")
	require.NoError(t, err)
	a.objects["/apis/apps/v1/deployments"] = &appsv1.DeploymentList{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DeploymentList"},
		Items: []appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{
			Namespace: agentNamespace, Name: "fleet-agent", Annotations: map[string]string{"meta.helm.sh/release-name": "fleet-agent"},
		}}},
	}
	a.objects["/api/v1/namespaces/"+agentNamespace+"/secrets/fleet-agent"] = &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		Data:     map[string][]byte{"kubeconfig": credential, "clusterNamespace": []byte("ws"), "clusterName": []byte("edge")},
	}
}
