package explain

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

var (
	now   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	start = now.Add(-24 * time.Hour)
)

const (
	// Public keys whose fingerprints are the two below.
	oneKey, otherKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="
	clusterUID       = "11111111-2222-3333-4444-555555555555"
	inUseDigest      = "0123456789abcdef"
)

func at(d time.Duration) metav1.Time { return metav1.NewTime(start.Add(d)) }

func when(d time.Duration) *metav1.Time { t := at(d); return &t }

func cond(kind string, status corev1.ConditionStatus, reason, message string, d time.Duration) genericcondition.GenericCondition {
	stamp := start.Add(d).Format(time.RFC3339)
	return genericcondition.GenericCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: stamp, LastUpdateTime: stamp}
}

func yes(kind string, d time.Duration) genericcondition.GenericCondition {
	return cond(kind, corev1.ConditionTrue, "", "", d)
}

func no(kind, reason, message string, d time.Duration) genericcondition.GenericCondition {
	return cond(kind, corev1.ConditionFalse, reason, message, d)
}

func fingerprint(key string) string {
	f, err := registration.Fingerprint(key)
	if err != nil {
		panic(err)
	}
	return f
}

// hubCertificate is the same in every run.
func hubCertificate(t *testing.T) []byte {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub-ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: start, NotAfter: start.Add(3650 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(bytes.NewReader(make([]byte, 64)), template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// managed is a cluster that the hub imports, of which nothing has happened yet.
func managed(change ...func(*Facts)) Facts {
	f := Facts{Now: now, Workspace: "fleet-default", Name: "edge-1", Cluster: &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "edge-1", CreationTimestamp: at(0), Annotations: map[string]string{}},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: "edge-1-kubeconfig", ClientID: "client-1"},
	}}
	for _, c := range change {
		c(&f)
	}
	return f
}

// byAgent is a cluster whose agent joins by itself.
func byAgent(change ...func(*Facts)) Facts {
	return managed(append([]func(*Facts){func(f *Facts) { f.Cluster.Spec.KubeConfigSecret = "" }}, change...)...)
}

// nobody is a name that no Cluster has.
func nobody(change ...func(*Facts)) Facts {
	return managed(append([]func(*Facts){func(f *Facts) { f.Cluster = nil }}, change...)...)
}

func status(list ...genericcondition.GenericCondition) func(*Facts) {
	return func(f *Facts) { f.Cluster.Status.Conditions = append(f.Cluster.Status.Conditions, list...) }
}

// placed has a namespace on the hub.
func placed(f *Facts) {
	f.Cluster.Status.Namespace = "cluster-fleet-default-edge-1-0123456789ab"
	status(yes(fleet.ClusterConditionProcessed, time.Second),
		no(fleet.ClusterConditionRegistered, "WaitingForAgent", "no agent has used a credential of this hub", time.Second),
		no(fleet.ClusterConditionAgentConnected, "WaitingForAgent", "there was no heartbeat yet", time.Second))(f)
}

func replaceCondition(f *Facts, c genericcondition.GenericCondition) {
	for i := range f.Cluster.Status.Conditions {
		if f.Cluster.Status.Conditions[i].Type == c.Type {
			f.Cluster.Status.Conditions[i] = c
			return
		}
	}
	f.Cluster.Status.Conditions = append(f.Cluster.Status.Conditions, c)
}

// becomes replaces conditions of the Cluster.
func becomes(list ...genericcondition.GenericCondition) func(*Facts) {
	return func(f *Facts) {
		for _, c := range list {
			replaceCondition(f, c)
		}
	}
}

// tokenNamed is a registration token that can be used.
func tokenNamed(name string, change ...func(*fleet.ClusterRegistrationToken)) func(*Facts) {
	return func(f *Facts) {
		token := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: f.Workspace, Name: name, CreationTimestamp: at(2 * time.Second)}}
		token.Status.Expires, token.Status.SecretName = when(12*time.Hour), name
		token.Status.Conditions = []genericcondition.GenericCondition{yes(fleet.TokenConditionReady, 3*time.Second)}
		for _, c := range change {
			c(token)
		}
		f.Token.Value = token
	}
}

// imported says that the hub has put the agent there.
func imported(f *Facts) {
	record := registration.Import{Namespace: "cattle-fleet-system", ClusterUID: clusterUID, Time: start.Add(4 * time.Second)}
	f.Cluster.Annotations[names.ImportAnnotation] = record.Annotation()
	status(yes(fleet.ClusterConditionImported, 4*time.Second))(f)
}

// asked adds a request with the key one.
func asked(name string, d time.Duration, change ...func(*fleet.ClusterRegistration)) func(*Facts) {
	return func(f *Facts) {
		r := &fleet.ClusterRegistration{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: f.Workspace, Name: "request-" + name, CreationTimestamp: at(d),
				Labels: map[string]string{names.RegistrationTokenLabel: "edge"},
			},
			Spec: fleet.ClusterRegistrationSpec{
				ClientID: "client-1", Identity: &fleet.RegistrationIdentity{PublicKey: oneKey, ClusterUID: clusterUID, Requester: "system:serviceaccount:a:b"},
				Agent: &fleet.RegistrationAgent{Version: "v1.2.3"},
			},
		}
		for _, c := range change {
			c(r)
		}
		f.Requests.Value = append(f.Requests.Value, r)
	}
}

// refused is a request that the hub does not grant.
func refused(reason string) func(*fleet.ClusterRegistration) {
	return func(r *fleet.ClusterRegistration) {
		r.Status.Conditions = append(r.Status.Conditions, no(fleet.RegistrationConditionGranted, reason, "because of "+reason, 2*time.Hour))
	}
}

func granted(r *fleet.ClusterRegistration) {
	r.Status.Granted, r.Status.ClusterName = true, "edge-1"
	r.Status.Credentials = []fleet.CredentialRecord{{Digest: inUseDigest, Type: registration.TypeTokenRequest, Issued: when(6 * time.Second), Expires: when(90 * 24 * time.Hour)}}
	r.Status.Conditions = []genericcondition.GenericCondition{
		cond(fleet.RegistrationConditionGranted, corev1.ConditionTrue, "Granted", "", 6*time.Second),
		cond(fleet.RegistrationConditionCredentialReady, corev1.ConditionTrue, "Ready", "the credential waits for the agent", 6*time.Second),
	}
}

func used(r *fleet.ClusterRegistration) {
	granted(r)
	r.Status.Credentials[0].Used = true
	r.Status.Conditions[1] = cond(fleet.RegistrationConditionCredentialReady, corev1.ConditionTrue, "InUse", "the agent uses the credential", 7*time.Second)
	r.Status.Conditions = append(r.Status.Conditions, yes(fleet.RegistrationConditionCredentialUsed, 7*time.Second))
}

func anotherKey(r *fleet.ClusterRegistration) {
	r.Spec.Identity.PublicKey, r.Spec.Identity.ClusterUID = otherKey, "99999999-2222-3333-4444-555555555555"
}

// beats says that heartbeats come.
func beats(f *Facts) {
	holder := registration.Holder{Instance: "fleet-agent-x", Fingerprint: fingerprint(oneKey), Digest: inUseDigest}.String()
	renewed := metav1.NewMicroTime(now.Add(-3 * time.Second))
	f.Lease.Value = &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.ClusterAnnotation: f.Name, names.ClusterNamespaceAnnotation: f.Workspace}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed},
	}
	f.Cluster.Annotations[names.IdentityAnnotation] = registration.Pin{Fingerprint: fingerprint(oneKey), ClusterUID: clusterUID}.Annotation()
	f.Cluster.Status.Agent = fleet.AgentStatus{LastSeen: at(8 * time.Second), Namespace: "cattle-fleet-system", Version: "v1.2.3"}
	f.Cluster.Status.Credential = &fleet.CredentialStatus{Type: registration.TypeTokenRequest, Expires: when(90 * 24 * time.Hour)}
	becomes(yes(fleet.ClusterConditionRegistered, 8*time.Second), yes(fleet.ClusterConditionAgentConnected, 8*time.Second),
		yes(fleet.ClusterConditionCredentialValid, 8*time.Second))(f)
}

// connected has come all the way.
func connected(f *Facts) {
	placed(f)
	if f.Cluster.Spec.KubeConfigSecret != "" {
		imported(f)
	}
	asked("used", 5*time.Second, used)(f)
	beats(f)
}

func hubKnown(t *testing.T) func(*Facts) {
	return func(f *Facts) {
		f.Hub.Value = &Hub{URL: "https://hub.example.com:6443", CA: hubCertificate(t), Source: "the hub's configuration"}
	}
}
