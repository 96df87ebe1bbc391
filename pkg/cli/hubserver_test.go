package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
)

// testHub is a hub in memory, and how a person reaches it.
type testHub struct {
	*kubetest.Server
	t          *testing.T
	kubeconfig string
}

// newTestHub is a hub whose kubeconfig has a namespace in its context, or none.
func newTestHub(t *testing.T, namespace string, kinds ...kubetest.Kind) *testHub {
	t.Helper()
	h := &testHub{Server: kubetest.New(t, kinds...), t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"hub",
		"clusters":[{"name":"hub","cluster":{"server":%q}}],"users":[{"name":"jane","user":{}}],
		"contexts":[{"name":"hub","context":{"cluster":"hub","user":"jane","namespace":%q}}]}`, h.URL, namespace)
	require.NoError(t, os.WriteFile(h.kubeconfig, []byte(text), 0o600))
	t.Setenv("KUBECONFIG", h.kubeconfig)
	h.identify("jane")
	return h
}

// identify answers who the person is; an empty name refuses that.
func (h *testHub) identify(user string, more ...func(http.ResponseWriter, *http.Request) bool) {
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		for _, fn := range more {
			if fn(w, r) {
				return true
			}
		}
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectreviews") {
			return false
		}
		if user == "" {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
			return true
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{"username":%q}}}`, user)
		return true
	})
}

// forbids refuses requests whose path has one of the parts.
func forbids(parts ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for _, part := range parts {
			if strings.Contains(r.URL.Path, part) {
				kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "you may not "+part)
				return true
			}
		}
		return false
	}
}

// put stores an object of the group or of the core.
func (h *testHub) put(kind string, obj runtime.Object) {
	gv := fleet.SchemeGroupVersion
	switch kind {
	case "Secret", "ConfigMap", "Event":
		gv = corev1.SchemeGroupVersion
	case "Lease":
		gv.Group, gv.Version = "coordination.k8s.io", "v1"
	}
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(kind))
	h.Put(obj)
}

// stored is an object as the hub has it now.
func stored[T any](h *testHub, kind, namespace, name string) *T {
	h.t.Helper()
	u := h.Object(kind, namespace, name)
	require.NotNil(h.t, u, "%s %s/%s", kind, namespace, name)
	obj := new(T)
	require.NoError(h.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj))
	return obj
}

// fixtureNow is the clock of the fixtures.
var fixtureNow = time.Now

// atNow lets fixtures be of one moment, so that what people read of them is always the same.
func atNow(t *testing.T) {
	was := fixtureNow
	fixtureNow = func() time.Time { return now }
	t.Cleanup(func() { fixtureNow = was })
}

func aCluster(namespace, name string, change ...func(*fleet.Cluster)) *fleet.Cluster {
	c := &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}}
	for _, fn := range change {
		fn(c)
	}
	return c
}

func aToken(namespace, name string, change ...func(*fleet.ClusterRegistrationToken)) *fleet.ClusterRegistrationToken {
	t := &fleet.ClusterRegistrationToken{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(fixtureNow())}}
	for _, fn := range change {
		fn(t)
	}
	return t
}

func aRequest(namespace, name string, change ...func(*fleet.ClusterRegistration)) *fleet.ClusterRegistration {
	r := &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(fixtureNow().Add(-5 * time.Minute)),
			Labels: map[string]string{names.RegistrationTokenLabel: "edge"},
		},
		Spec: fleet.ClusterRegistrationSpec{ClientID: "client-1", Identity: &fleet.RegistrationIdentity{
			PublicKey: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", ClusterUID: "uid-of-the-cluster", Requester: "system:serviceaccount:x:y",
		}},
	}
	for _, fn := range change {
		fn(r)
	}
	return r
}

func conditionNow(kind string, status corev1.ConditionStatus, reason, message string) genericcondition.GenericCondition {
	stamp := fixtureNow().UTC().Add(-time.Minute).Format(time.RFC3339)
	return genericcondition.GenericCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: stamp, LastUpdateTime: stamp}
}

// refusedFor says why a request is not granted.
func refusedFor(reason, cluster string) func(*fleet.ClusterRegistration) {
	return func(r *fleet.ClusterRegistration) {
		r.Status.ClusterName = cluster
		r.Status.Conditions = []genericcondition.GenericCondition{
			conditionNow(fleet.RegistrationConditionGranted, corev1.ConditionFalse, reason, "because of "+reason),
		}
	}
}

// cells are the lines of a table, cut into columns.
func cells(table string) [][]string {
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSuffix(table, "\n"), "\n") {
		rows = append(rows, regexp.MustCompile(` {3,}`).Split(strings.TrimRight(line, " "), -1))
	}
	return rows
}
