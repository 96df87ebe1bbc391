package clusterimport

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

// downstream is a foreign cluster: an API server behind TLS, and the kubeconfig that leads there.
type downstream struct {
	*kubetest.Server
	uid        string
	kubeconfig []byte
}

func newDownstream(t *testing.T) *downstream {
	t.Helper()
	kinds := append(kubetest.HubKinds(),
		kindOf("apps", "v1", "StatefulSet", "statefulsets", true),
		kindOf("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true),
		kindOf("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true),
		kindOf("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false),
	)
	d := &downstream{Server: kubetest.New(t, kinds...)}
	tls := httptest.NewUnstartedServer(d.Server)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that a test lets fail
	tls.StartTLS()
	t.Cleanup(tls.Close)
	system := d.Put(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
	d.uid = string(system.GetUID())
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	var err error
	d.kubeconfig, err = kube.BuildKubeconfig(tls.URL, ca, "a-token", "default")
	require.NoError(t, err)
	d.Reset()
	return d
}

// anotherDownstream is a foreign cluster with another UID.
func anotherDownstream(t *testing.T, than *downstream) *downstream {
	t.Helper()
	d := newDownstream(t)
	system := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	for d.uid == than.uid {
		d.Remove("Namespace", "", "kube-system")
		d.uid = string(d.Put(system).GetUID())
	}
	d.Reset()
	return d
}

func kindOf(group, version, kind, resource string, namespaced bool) kubetest.Kind {
	return kubetest.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Resource: resource, Namespaced: namespaced}
}

// refuse answers each write whose path contains part with an error.
func (d *downstream) refuse(part string, code int, reason metav1.StatusReason, message string) {
	d.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) || r.Method == http.MethodGet {
			return false
		}
		kubetest.Fail(w, code, reason, message)
		return true
	})
}

// agentObjects are the objects of an agent in a namespace, as "Kind namespace/name".
func (d *downstream) objects() []string {
	var all []string
	for _, kind := range []string{
		"Namespace", "ServiceAccount", "ConfigMap", "Secret", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy", "PodDisruptionBudget",
		"PriorityClass", "Deployment", "StatefulSet", "Lease",
	} {
		for _, name := range d.Names(kind) {
			if name != "/kube-system" {
				all = append(all, kind+" "+name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// importing is a hub with a new Cluster whose kubeconfig leads to a foreign cluster, and whose import token is answered.
func importing(t *testing.T) (*hub, *downstream) {
	t.Helper()
	h, d := newHub(t), newDownstream(t)
	h.clusters.Add(cluster())
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig}))
	return h, d
}

// joined is importing, with the import done and the agent connected.
func joined(t *testing.T) (*hub, *downstream) {
	t.Helper()
	h, d := importing(t)
	require.NoError(t, h.work(t.Context(), key))
	h.answerToken(t)
	require.NoError(t, h.work(t.Context(), key))
	h.change(t, connectedNow(h))
	h.writes()
	d.Reset()
	return h, d
}

// decoded are the values of a Secret as the API shows them.
func decoded(t *testing.T, data map[string]string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for key, value := range data {
		raw, err := base64.StdEncoding.DecodeString(value)
		require.NoError(t, err)
		out[key] = raw
	}
	return out
}

// serverOf is the address in a kubeconfig.
func serverOf(kubeconfig string) string {
	_, after, _ := strings.Cut(kubeconfig, "server: ")
	server, _, _ := strings.Cut(after, "\n")
	return server
}

// endOfCAs is when those of caOf end.
var endOfCAs = now.AddDate(100, 0, 0)

// caOf is a CA of a name, that has signed nothing: the same each time, and none for no name.
func caOf(name string) []byte {
	if name == "" {
		return nil
	}
	key := sha256.Sum256([]byte(name))
	private := ed25519.NewKeyFromSeed(key[:])
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: endOfCAs,
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(nil, template, template, private.Public(), private)
	if err != nil {
		return nil
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}
