package apitest

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// Drop, as the result of a Guard, cuts the connection without an answer.
const Drop = -1

// Guard looks at a call before it is served: 0 lets it pass, an HTTP status refuses it, -403 and -404 refuse it in the
// words of a proxy, Drop cuts the connection.
type Guard func(Call) int

// Server is an API server in memory.
type Server struct {
	http *httptest.Server

	mu      sync.Mutex
	rv      int64
	objects map[string]*unstructured.Unstructured
	events  []event
	// moved is closed and replaced whenever there is a new event.
	moved  chan struct{}
	calls  []Call
	guards map[string]Guard
	order  []string
	after  func(Call)
	served map[string]metav1.APIResourceList
}

type event struct {
	rv     int64
	kind   string
	key    string
	object *unstructured.Unstructured
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]*unstructured.Unstructured{}, moved: make(chan struct{}), guards: map[string]Guard{},
		served: map[string]metav1.APIResourceList{}}
	s.http = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	// HTTP/1.1: a cut connection then concerns one call.
	s.http.EnableHTTP2 = false
	s.http.StartTLS()
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL is where the server listens.
func (s *Server) URL() string { return s.http.URL }

// CA is the certificate that it must be trusted by.
func (s *Server) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

// Kubeconfig is a file that leads to the server.
func (s *Server) Kubeconfig(t testing.TB, token string) string {
	t.Helper()
	data, err := kube.BuildKubeconfig(s.URL(), s.CA(), token, "")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, writeFile(path, data))
	return path
}

// Client is a client of the server, whose connections end with the test.
func (s *Server) Client(t testing.TB, token string) kubernetes.Interface {
	t.Helper()
	cfg, err := kube.RESTConfig(s.Kubeconfig(t, token), "", "apitest")
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return client
}

// Guard puts a guard before every call; the same name again replaces it, nil removes it. Guards are asked in the order in
// which they were added.
func (s *Server) Guard(name string, guard Guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.guards[name]; !known {
		s.order = append(s.order, name)
	}
	s.guards[name] = guard
}

// After is called when a call has been served, with what was asked.
func (s *Server) After(after func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = after
}

// Serve says what the server tells of a group's version when it is asked what it serves. Without it that is nothing.
func (s *Server) Serve(groupVersion string, resources ...metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[groupVersion] = metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion, APIResources: resources,
	}
}

// discover answers the question what is served, and says whether it was one.
func (s *Server) discover(w http.ResponseWriter, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, known := s.served[strings.TrimPrefix(strings.TrimPrefix(path, "/apis/"), "/api/")]
	if known {
		answer(w, http.StatusOK, list)
	}
	return known
}

// CutConnections ends all calls and watches that are under way.
func (s *Server) CutConnections() { s.http.CloseClientConnections() }

// Calls are those so far that match.
func (s *Server) Calls(match func(Call) bool) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, call := range s.calls {
		if match(call) {
			out = append(out, call)
		}
	}
	return out
}

// Put makes or replaces an object, as somebody else would. resource is "group/resource", with an empty group for core.
// It panics where the object cannot be encoded, since it is also called outside of a test's goroutine.
func (s *Server) Put(resource string, object any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{Object: content}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(resource, u.GetNamespace(), u.GetName())
	if old := s.objects[k]; old != nil {
		u.SetUID(old.GetUID())
	}
	s.store(k, u)
}

// Remove deletes an object, as somebody else would.
func (s *Server) Remove(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key(resource, namespace, name))
}

// Get decodes an object into out, and says whether it is there.
func (s *Server) Get(resource, namespace, name string, out any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.objects[key(resource, namespace, name)]
	if u == nil {
		return false
	}
	if out == nil {
		return true
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.DeepCopy().Object, out) == nil
}

// Names are those of a resource in a namespace, sorted.
func (s *Server) Names(resource, namespace string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k, u := range s.objects {
		if k == key(resource, namespace, u.GetName()) {
			out = append(out, u.GetName())
		}
	}
	slices.Sort(out)
	return out
}

func key(resource, namespace, name string) string { return resource + "|" + namespace + "|" + name }

// kinds are those of the resources that the agent lists or watches, or that tests put.
var kinds = map[string]schema.GroupVersionKind{
	"/secrets":                             corev1.SchemeGroupVersion.WithKind("Secret"),
	"/configmaps":                          corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	"/namespaces":                          corev1.SchemeGroupVersion.WithKind("Namespace"),
	"/pods":                                corev1.SchemeGroupVersion.WithKind("Pod"),
	"/events":                              corev1.SchemeGroupVersion.WithKind("Event"),
	"apps/deployments":                     appsv1.SchemeGroupVersion.WithKind("Deployment"),
	"apps/replicasets":                     appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	"coordination.k8s.io/leases":           coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	"fleet.cattle.io/clusters":             fleet.SchemeGroupVersion.WithKind("Cluster"),
	"fleet.cattle.io/clusterregistrations": fleet.SchemeGroupVersion.WithKind("ClusterRegistration"),
	"fleet.cattle.io/contents":             fleet.SchemeGroupVersion.WithKind("Content"),
	"fleet.cattle.io/bundledeployments":    fleet.SchemeGroupVersion.WithKind("BundleDeployment"),
}

func kindOf(resource string) string { return kinds[resource].Kind }

// store and remove are called with the lock held.
func (s *Server) store(k string, u *unstructured.Unstructured) {
	if resource, _, _ := strings.Cut(k, "|"); u.GetKind() == "" {
		u.SetGroupVersionKind(kinds[resource])
	}
	kind := "MODIFIED"
	if s.objects[k] == nil {
		kind = "ADDED"
	}
	if u.GetUID() == "" {
		u.SetUID(types.UID(uuid.NewUUID()))
	}
	s.rv++
	u.SetResourceVersion(strconv.FormatInt(s.rv, 10))
	s.objects[k] = u
	s.publish(kind, k, u)
}

func (s *Server) remove(k string) {
	u := s.objects[k]
	if u == nil {
		return
	}
	delete(s.objects, k)
	s.rv++
	gone := u.DeepCopy()
	gone.SetResourceVersion(strconv.FormatInt(s.rv, 10))
	s.publish("DELETED", k, gone)
}

func (s *Server) publish(kind, k string, u *unstructured.Unstructured) {
	s.events = append(s.events, event{rv: s.rv, kind: kind, key: k, object: u.DeepCopy()})
	close(s.moved)
	s.moved = make(chan struct{})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	answer(w, int(status.Code), status)
}
