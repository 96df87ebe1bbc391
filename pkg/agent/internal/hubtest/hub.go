package hubtest

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// Names in the hub's world.
const (
	Workspace             = "fleet-default"
	RegistrationNamespace = "cattle-fleet-clusters-system"
	AgentsNamespace       = "cattle-fleet-agents-system"
	Cluster               = "edge"
	TokenName             = "edge-token"
	UID                   = "hub-kube-system-uid"

	Registrations = "fleet.cattle.io/clusterregistrations"
	Clusters      = "fleet.cattle.io/clusters"
	Deployments   = "fleet.cattle.io/bundledeployments"
	Leases        = "coordination.k8s.io/leases"
	Contents      = "fleet.cattle.io/contents"
	Secrets       = "/secrets"
	ConfigMaps    = "/configmaps"
	Namespaces    = "/namespaces"
)

// Namespace is the cluster's on the hub.
var Namespace = names.ClusterNamespace(Workspace, Cluster)

// Options are how the hub behaves. They may be changed while it runs, with Configure.
type Options struct {
	// Hold makes the hub grant nothing and say so with this reason.
	Hold string
	// Mute makes the hub grant nothing and say nothing.
	Mute bool
	// Denials is how often the credential is refused with 403 after the grant.
	Denials int
	// Plain gives a token that is not sealed, as a hub does that knows nothing of keys; such a hub also lets nobody
	// read a request.
	Plain bool
	// Strange seals for another request.
	Strange bool
	// Unbound is how often a new credential is refused with 403.
	Unbound int
	// Lifetime is that of the credentials that are granted.
	Lifetime time.Duration
}

// Hub is a hub with one workspace and one cluster.
type Hub struct {
	*apitest.Server

	mu       sync.Mutex
	options  Options
	accounts map[string]Account
	// granted is who may read which credential: its Secret's name to the UID of the import account.
	granted map[string]string
	denials map[string]int
	unbound map[string]int
}

// New starts a hub that ends with the test. It has the Cluster and the Lease that a real hub makes before it grants.
func New(t testing.TB, o Options) *Hub {
	t.Helper()
	h := &Hub{
		Server: apitest.New(t), options: o,
		accounts: map[string]Account{}, granted: map[string]string{}, denials: map[string]int{}, unbound: map[string]int{},
	}
	h.Guard("rbac", h.authorize)
	h.After(h.grant)
	h.PutLease()
	h.Put(Clusters, &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: Workspace, Name: Cluster}})
	return h
}

// Configure changes how the hub behaves from now on. Requests that it has held are granted when it holds no more.
func (h *Hub) Configure(change func(*Options)) {
	h.mu.Lock()
	change(&h.options)
	h.mu.Unlock()
	for _, name := range h.Names(Registrations, Workspace) {
		h.grant(apitest.Call{Verb: "create", Resource: Registrations, Namespace: Workspace, Body: []byte(`{"metadata":{"name":"` + name + `"}}`)})
	}
}

// Bootstrap is a new import account's way in.
func (h *Hub) Bootstrap() registration.Bootstrap {
	a := Account{Namespace: RegistrationNamespace, Name: "import-" + string(uuid.NewUUID())[:8], UID: string(uuid.NewUUID())}
	return registration.Bootstrap{
		APIServerURL:                h.URL(),
		APIServerCA:                 h.CA(),
		ClusterNamespace:            Workspace,
		Token:                       h.Mint(a, time.Now(), time.Now().Add(12*time.Hour)),
		TokenName:                   TokenName,
		SystemRegistrationNamespace: RegistrationNamespace,
	}
}

// Mint makes a token that the hub honours.
func (h *Hub) Mint(a Account, issued, expires time.Time) string {
	token := jwt(a, issued, expires)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accounts[token] = a
	return token
}

// Revoke makes the hub answer 401 to a token; Restore takes that back.
func (h *Hub) Revoke(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.accounts, token)
}

// Restore makes the hub honour a token, again or for the first time.
func (h *Hub) Restore(token string, a Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accounts[token] = a
}

// AccountOf is who a token speaks for, the zero value where the hub does not honour it.
func (h *Hub) AccountOf(token string) Account {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.accounts[token]
}

// Requests are the registration requests that exist.
func (h *Hub) Requests() []fleet.ClusterRegistration {
	var out []fleet.ClusterRegistration
	for _, name := range h.Names(Registrations, Workspace) {
		var req fleet.ClusterRegistration
		if h.Get(Registrations, Workspace, name, &req) {
			out = append(out, req)
		}
	}
	return out
}

// authorize answers as the hub's authentication and RBAC would.
func (h *Hub) authorize(c apitest.Call) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	account, known := h.accounts[c.Token]
	switch {
	case !known:
		return http.StatusUnauthorized
	case account.Request == "" && h.importMay(account, c), account.Request != "" && h.agentMay(c):
		return 0
	}
	return http.StatusForbidden
}

func (h *Hub) importMay(a Account, c apitest.Call) bool {
	switch {
	case c.On("create", Registrations):
		return c.Namespace == Workspace
	case c.On("get", Registrations):
		return c.Namespace == Workspace && !h.options.Plain
	case c.On("get", Secrets) && c.Namespace == RegistrationNamespace && h.granted[c.Name] == a.UID:
		h.denials[c.Name]++
		return h.denials[c.Name] > h.options.Denials
	}
	return false
}

func (h *Hub) agentMay(c apitest.Call) bool {
	switch {
	case c.On("list", Deployments):
		h.unbound[c.Token]++
		return c.Namespace == Namespace && h.unbound[c.Token] > h.options.Unbound
	case c.On("watch", Deployments), c.On("get", Deployments), c.On("patch", Deployments) && c.Subresource == "status":
		return c.Namespace == Namespace
	case c.On("get", Leases), c.On("update", Leases):
		return c.Namespace == Namespace && c.Name == names.HeartbeatLease
	case c.On("get", Secrets), c.On("get", ConfigMaps):
		return c.Namespace == Namespace
	case c.On("get", Namespaces):
		return c.Name == Namespace
	case c.On("get", Contents):
		return true
	case c.On("patch", Clusters):
		return c.Namespace == Workspace && c.Name == Cluster && c.Subresource == "status"
	}
	return false
}

func heldBack(req *fleet.ClusterRegistration, reason string) {
	req.Status.Conditions = []genericcondition.GenericCondition{{
		Type: fleet.RegistrationConditionGranted, Status: corev1.ConditionFalse, Reason: reason, Message: "the hub waits",
	}}
}
