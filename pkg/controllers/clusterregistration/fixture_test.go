package clusterregistration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	workspace = "fleet-default"
	edge      = "edge"
	client    = "client-of-edge"
	hubUID    = "uid-of-the-hub"
	// importUID is the UID of the account behind the token of a test.
	importUID = "uid-of-import-account"
	tokenUID  = "uid-of-token"
	edgeUID   = "uid-of-edge"
	downUID   = "uid-of-the-downstream-cluster"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hubNames() names.Namespaces { return names.NamespacesOf(names.DefaultSystemNamespace) }

// agentKey is the key of the agent of a test, otherKey that of somebody else.
var agentKey, otherKey = newKey(), newKey()

func newKey() registration.Identity {
	id, err := registration.NewIdentity()
	if err != nil {
		panic(err)
	}
	return id
}

type change[T any] func(T)

func with[T any](obj T, changes ...change[T]) T {
	for _, f := range changes {
		f(obj)
	}
	return obj
}

func cluster(changes ...change[*fleet.Cluster]) *fleet.Cluster {
	return with(&fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: edge, UID: edgeUID, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
		Spec:       fleet.ClusterSpec{ClientID: client, KubeConfigSecret: "kubeconfig"},
		Status:     fleet.ClusterStatus{Namespace: place},
	}, changes...)
}

func pinnedTo(id registration.Identity, clusterUID string) change[*fleet.Cluster] {
	return annotated(names.IdentityAnnotation, registration.Pin{Fingerprint: id.Fingerprint(), ClusterUID: clusterUID}.Annotation())
}

func importedWith(accountUID, clusterUID string) change[*fleet.Cluster] {
	return annotated(names.ImportAnnotation, registration.Import{AccountUID: accountUID, ClusterUID: clusterUID, Time: now}.Annotation())
}

func annotated(key, value string) change[*fleet.Cluster] {
	return func(c *fleet.Cluster) {
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[key] = value
	}
}

// request is what the agent of edge asks, with its key.
func request(changes ...change[*fleet.ClusterRegistration]) *fleet.ClusterRegistration {
	return with(&fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workspace, Name: "request-1", UID: "uid-of-request-1", CreationTimestamp: metav1.NewTime(now),
			Labels: map[string]string{names.RegistrationTokenLabel: "import-token-edge"},
		},
		Spec: fleet.ClusterRegistrationSpec{
			ClientID: client, ClientRandom: "random",
			Identity: &fleet.RegistrationIdentity{PublicKey: agentKey.PublicKey(), ClusterUID: downUID, Requester: userOf(token())},
		},
	}, changes...)
}

func named(name string) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) { r.Name, r.UID = name, types.UID("uid-of-"+name) }
}

func keyless(r *fleet.ClusterRegistration) { r.Spec.Identity = nil }

func withKey(id registration.Identity, clusterUID string) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) {
		r.Spec.Identity = &fleet.RegistrationIdentity{PublicKey: id.PublicKey(), ClusterUID: clusterUID, Requester: userOf(token())}
	}
}

func decidedBy(decision string) change[*fleet.ClusterRegistration] {
	return func(r *fleet.ClusterRegistration) {
		r.Status.Approval = &fleet.RegistrationApproval{Decision: decision, By: "ann", Reason: "because"}
	}
}

// granted is a request that this hub has granted for edge.
func granted(r *fleet.ClusterRegistration) {
	r.Status.ClusterName, r.Status.Granted = edge, true
	setTrue(r, fleet.RegistrationConditionGranted)
}

func used(r *fleet.ClusterRegistration) { setTrue(r, fleet.RegistrationConditionCredentialUsed) }

// token is the hub's own for edge.
func token(changes ...change[*fleet.ClusterRegistrationToken]) *fleet.ClusterRegistrationToken {
	return with(&fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{
		Namespace: workspace, Name: "import-token-edge", UID: tokenUID, CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster", Name: edge, UID: edgeUID}},
	}}, changes...)
}

// ofAPerson is a token that nobody but a person made.
func ofAPerson(t *fleet.ClusterRegistrationToken) {
	t.Name, t.OwnerReferences = "shared", nil
}

func importAccount(t *fleet.ClusterRegistrationToken) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Registration, Name: names.Account(t.Name, string(t.UID)), UID: importUID,
		Annotations: map[string]string{names.OwnerAnnotation: "ClusterRegistrationToken/" + t.Namespace + "/" + t.Name + "/" + string(t.UID)},
	}}
}

// userOf is who comes with a token.
func userOf(t *fleet.ClusterRegistrationToken) string {
	return names.AccountUser(hubNames().Registration, names.Account(t.Name, string(t.UID)))
}

// place is the namespace of Cluster edge.
var place = names.ClusterNamespace(workspace, edge)

func placeOf(uid string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: place, Annotations: map[string]string{
		names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge,
		names.OwnerAnnotation: "Cluster/" + workspace + "/" + edge + "/" + uid,
	}}}
}

// hub is the controller over memory.
type hub struct {
	*handler
	registrations *controllertest.Controller[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList]
	clusters      *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	tokens        *controllertest.Controller[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList]
	accounts      *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	secrets       *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	namespaces    *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	granted       *memorySet
	reported      *memorySet
	source        *config.Source
	minted        []string
	// longest is the longest life that the API server grants; zero grants what is asked for.
	longest     time.Duration
	fails       map[string]error
	lock        sync.Mutex
	calls       []string
	reportCalls []string
	proof       proof
}

func newHub(t *testing.T) *hub {
	t.Helper()
	const group = "fleet.cattle.io"
	h := &hub{
		registrations: controllertest.New[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList](group, "clusterregistrations"),
		clusters:      controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		tokens:        controllertest.New[*fleet.ClusterRegistrationToken, *fleet.ClusterRegistrationTokenList](group, "clusterregistrationtokens"),
		accounts:      controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		secrets:       controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		namespaces:    controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
		source:        config.NewSource("v1"),
		fails:         map[string]error{},
		proof:         proof{checked},
	}
	deps := Deps{
		Registrations: h.registrations, Clusters: h.clusters, Tokens: h.tokens, Accounts: h.accounts, Secrets: h.secrets,
		Namespaces: h.namespaces, Clients: h.tokenRequests(), Config: h.source, Names: hubNames(),
		Clock: clocktesting.NewFakePassiveClock(now), HubUID: hubUID, Provenance: &h.proof,
	}
	h.granted, h.reported = newSet(h, "grant"), newSet(h, "report")
	h.handler = newHandler(context.Background(), deps, h.granted, h.reported)
	addIndexers(deps)
	h.registrations.Fail, h.clusters.Fail, h.secrets.Fail = h.script("ClusterRegistration"), h.script("Cluster"), h.script("Secret")
	return h
}

// joining is a hub with everything that a request of edge needs.
func joining(t *testing.T, changes ...change[*fleet.ClusterRegistration]) *hub {
	t.Helper()
	h := newHub(t)
	h.clusters.Add(cluster())
	h.namespaces.Add(placeOf(edgeUID))
	h.tokens.Add(token())
	h.accounts.Add(importAccount(token()))
	h.registrations.Add(request(changes...))
	return h
}

func (h *hub) script(kind string) func(verb, key string) error {
	return func(verb, key string) error {
		call := verb + " " + kind + " " + key
		h.lock.Lock()
		defer h.lock.Unlock()
		switch {
		case kind == "report": // beside the others, at any time
			h.reportCalls = append(h.reportCalls, call)
		case verb != "get":
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

// tokenRequests answers requests for tokens of accounts that exist.
func (h *hub) tokenRequests() *fake.Clientset {
	clients := fake.NewClientset()
	clients.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateActionImpl)
		if !ok || action.GetSubresource() != "token" {
			return false, nil, nil
		}
		if err := h.script("token of")("create", action.GetNamespace()+"/"+create.Name); err != nil {
			return true, nil, err
		}
		account := h.accounts.Live(action.GetNamespace(), create.Name)
		if account == nil {
			return true, nil, fmt.Errorf("there is no account %s", create.Name)
		}
		ask := create.Object.(*authenticationv1.TokenRequest)
		h.minted = append(h.minted, jwt(fmt.Sprint(len(h.minted)+1), string(account.UID)))
		life := time.Duration(*ask.Spec.ExpirationSeconds) * time.Second
		if h.longest > 0 {
			life = min(life, h.longest)
		}
		ask.Status = authenticationv1.TokenRequestStatus{
			Token:               h.minted[len(h.minted)-1],
			ExpirationTimestamp: metav1.NewTime(now.Add(life)),
		}
		return true, ask, nil
	})
	return clients
}

func jwt(id, accountUID string) string {
	claims, _ := json.Marshal(map[string]any{
		"jti": id, "sub": "system:serviceaccount:agents:a",
		"kubernetes.io": map[string]any{"serviceaccount": map[string]string{"name": "a", "uid": accountUID}},
	})
	return "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".c2ln"
}

// look runs the handler once, with the request as the cache has it.
func (h *hub) look(t *testing.T, name string) error {
	t.Helper()
	r, err := found(h.registrations.Cache().Get(workspace, name))
	require.NoError(t, err)
	_, err = h.onChange(workspace+"/"+name, r)
	return err
}

func (h *hub) live(name string) *fleet.ClusterRegistration {
	return h.registrations.Live(workspace, name)
}

func setTrue(r *fleet.ClusterRegistration, kind string) {
	conditions.SetCondition(&r.Status.Conditions, kind, metav1.ConditionTrue, "Test", "", now)
}
