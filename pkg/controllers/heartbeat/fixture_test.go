package heartbeat

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
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
	place     = "cluster-fleet-default-edge"
	accountOf = "uid-of-account"
	// aKey is the public key of an agent.
	aKey = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
)

// began is when the hub of a test starts.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hubNames() names.Namespaces { return names.NamespacesOf(names.DefaultSystemNamespace) }

func newCluster() *fleet.Cluster {
	return &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: edge, UID: "uid-of-edge", CreationTimestamp: metav1.NewTime(began.Add(-time.Hour))},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: "kubeconfig"},
		Status:     fleet.ClusterStatus{Namespace: place},
	}
}

func newLease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: place, Name: names.HeartbeatLease, CreationTimestamp: metav1.NewTime(began.Add(-time.Hour)),
		Annotations: map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: edge},
	}}
}

// record is that of a token which lives for 90 days from issued on.
func record(token string, issued time.Time) fleet.CredentialRecord {
	return fleet.CredentialRecord{
		Digest: registration.Digest(token), AccountUID: accountOf, Type: registration.TypeTokenRequest,
		Issued: &metav1.Time{Time: issued}, Expires: &metav1.Time{Time: issued.Add(90 * 24 * time.Hour)},
	}
}

// granted is a request that was granted with these credentials, at a time that follows from its name.
func granted(name string, created time.Time, records ...fleet.CredentialRecord) *fleet.ClusterRegistration {
	r := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(created)},
		Spec:       fleet.ClusterRegistrationSpec{Identity: &fleet.RegistrationIdentity{PublicKey: aKey}},
		Status:     fleet.ClusterRegistrationStatus{ClusterName: edge, Granted: true, Credentials: records},
	}
	r.Status.Conditions = withTrue(fleet.RegistrationConditionGranted)
	return r
}

func holder(token string) string {
	return registration.Holder{Instance: "fleet-agent-1", Digest: registration.Digest(token)}.String()
}

// hub is the controller over memory, with a clock that a test moves.
type hub struct {
	*handler
	clock         *clocktesting.FakePassiveClock
	leases        *controllertest.Controller[*coordinationv1.Lease, *coordinationv1.LeaseList]
	clusters      *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	registrations *controllertest.Controller[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList]
	accounts      *controllertest.Controller[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	secrets       *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	minted        []string
	// longest is the longest life that the API server grants; zero grants what is asked for.
	longest time.Duration
	fails   map[string]error
	calls   []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	const group = "fleet.cattle.io"
	h := &hub{
		clock:         clocktesting.NewFakePassiveClock(began),
		leases:        controllertest.New[*coordinationv1.Lease, *coordinationv1.LeaseList]("coordination.k8s.io", "leases"),
		clusters:      controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		registrations: controllertest.New[*fleet.ClusterRegistration, *fleet.ClusterRegistrationList](group, "clusterregistrations"),
		accounts:      controllertest.New[*corev1.ServiceAccount, *corev1.ServiceAccountList]("", "serviceaccounts"),
		secrets:       controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		fails:         map[string]error{},
	}
	deps := Deps{
		Leases: h.leases, Clusters: h.clusters, Registrations: h.registrations, Accounts: h.accounts, Secrets: h.secrets,
		Clients: h.tokens(), Config: config.NewSource("v1"), Names: hubNames(), Clock: h.clock,
	}
	h.handler = newHandler(context.Background(), deps)
	addIndexers(deps)
	h.clusters.Fail, h.registrations.Fail, h.secrets.Fail = h.script("Cluster"), h.script("ClusterRegistration"), h.script("Secret")
	return h
}

// configure puts a CA of the hub in force.
func (h *hub) configure(t *testing.T, ca []byte) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"apiServerCA": ca})
	require.NoError(t, err)
	_, err = h.Config.Load(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.VersionAnnotation: "v1"}},
		Data:       map[string]string{names.ConfigKey: string(raw)},
	})
	require.NoError(t, err)
}

// testCA is a CA as PEM.
func testCA(t *testing.T, from, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotBefore: from, NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// tokens answers requests for tokens, each with another one.
func (h *hub) tokens() *fake.Clientset {
	clients := fake.NewClientset()
	clients.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "token" {
			return false, nil, nil
		}
		if err := h.script("token of")("create", action.GetNamespace()); err != nil {
			return true, nil, err
		}
		ask := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenRequest)
		token := jwt(fmt.Sprintf("minted-%d", len(h.minted)+1))
		h.minted = append(h.minted, token)
		life := time.Duration(*ask.Spec.ExpirationSeconds) * time.Second
		if h.longest > 0 {
			life = min(life, h.longest)
		}
		ask.Status = authenticationv1.TokenRequestStatus{
			Token:               token,
			ExpirationTimestamp: metav1.NewTime(h.clock.Now().Add(life)),
		}
		return true, ask, nil
	})
	return clients
}

// jwt is a token of the account, with an ID of its own.
func jwt(id string) string {
	claims, _ := json.Marshal(map[string]any{
		"jti": id, "sub": "system:serviceaccount:agents:a",
		"kubernetes.io": map[string]any{"serviceaccount": map[string]string{"name": "a", "uid": accountOf}},
	})
	return "e30." + base64.RawURLEncoding.EncodeToString(claims) + ".c2ln"
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

// writes are the calls that change something since the last time this was asked.
func (h *hub) writes() []string {
	calls := h.calls
	h.calls = nil
	return calls
}

// account puts the account of a request there.
func (h *hub) account(r *fleet.ClusterRegistration, uid string) {
	h.accounts.Add(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: hubNames().Agents, Name: names.Account(r.Name, string(r.UID)), UID: types.UID(uid),
	}})
}

// look runs the handler once, with the Lease as the cache has it.
func (h *hub) look(t *testing.T) error {
	t.Helper()
	lease, err := h.leases.Cache().Get(place, names.HeartbeatLease)
	require.NoError(t, err)
	_, err = h.onLease(place+"/"+names.HeartbeatLease, lease)
	return err
}

// beat lets time pass, has the agent renew the Lease with a token, and looks.
func (h *hub) beat(t *testing.T, after time.Duration, token string) {
	t.Helper()
	h.clock.SetTime(h.clock.Now().Add(after))
	h.renew(t, token)
	require.NoError(t, h.look(t))
}

func (h *hub) renew(t *testing.T, token string) {
	t.Helper()
	lease := h.leases.Live(place, names.HeartbeatLease)
	require.NotNil(t, lease)
	name := holder(token)
	lease.Spec.HolderIdentity = &name
	lease.Spec.RenewTime = &metav1.MicroTime{Time: h.clock.Now().Add(7 * time.Minute)} // its clock is wrong, as may be
	_, err := h.leases.Update(lease)
	require.NoError(t, err)
}

func withTrue(kinds ...string) (list []genericcondition.GenericCondition) {
	for _, kind := range kinds {
		conditions.SetCondition(&list, kind, metav1.ConditionTrue, "Test", "", began)
	}
	return list
}
