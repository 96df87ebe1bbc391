package provenance

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

func TestWhatIsServedAndWhatIsInstalledIsAsked(t *testing.T) {
	meta := metav1.ObjectMeta{Name: names.RegistrationPolicy}
	clients := fake.NewClientset()
	s := &apiServer{clients: clients}
	kinds := func(resources ...string) {
		list := &metav1.APIResourceList{GroupVersion: "admissionregistration.k8s.io/v1"}
		for _, name := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		clients.Resources = []*metav1.APIResourceList{list}
	}
	served := func() bool {
		yes, err := s.served(t.Context())
		require.NoError(t, err)
		return yes
	}
	assert.False(t, served(), "no such group")
	kinds("validatingwebhookconfigurations")
	assert.False(t, served(), "Kubernetes before 1.30")
	kinds("validatingwebhookconfigurations", "validatingadmissionpolicies")
	assert.True(t, served())

	missing := func() string {
		kind, err := s.missing(t.Context())
		require.NoError(t, err)
		return kind
	}
	assert.Equal(t, "ValidatingAdmissionPolicy", missing())
	_, err := clients.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Equal(t, "ValidatingAdmissionPolicyBinding", missing())
	_, err = clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}, metav1.CreateOptions{})
	require.NoError(t, err)
	assert.Empty(t, missing())
}

// sent is a request as a server saw it.
type sent struct {
	path, query, user string
	body              map[string]any
}

// answering is an API server that mints tokens and answers requests for a registration.
func answering(t *testing.T, status int, answer string) (*apiServer, <-chan sent) {
	t.Helper()
	seen := make(chan sent, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := sent{path: r.URL.Path, query: r.URL.RawQuery, user: r.Header.Get("Authorization")}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/token") {
			seen <- s
			reply := authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: "of-the-probe"}}
			reply.APIVersion, reply.Kind = "authentication.k8s.io/v1", "TokenRequest"
			_ = json.NewEncoder(w).Encode(reply)
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&s.body)
		seen <- s
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	cfg := &rest.Config{Host: server.URL, BearerToken: "the-hubs", ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	clients, err := kube.ClientsNamed(cfg, userAgent)
	require.NoError(t, err)
	return &apiServer{clients: clients, config: cfg, names: names.NamespacesOf(names.DefaultSystemNamespace)}, seen
}

func TestTheProbeAsksAsItsOwnAccountAndWithoutEffect(t *testing.T) {
	const denied = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"clusterregistrations.fleet.cattle.io \"request-provenance-probe\" is forbidden: ValidatingAdmissionPolicy 'fleet-registration' with binding 'fleet-registration' denied request: no"}`
	s, seen := answering(t, http.StatusForbidden, denied)
	answer, failure := s.try(t.Context())
	require.NoError(t, failure)
	require.True(t, apierrors.IsForbidden(answer), "%v", answer)
	assert.True(t, decide(observation{served: true, answer: answer}).Enforced())

	require.Len(t, seen, 2)
	mint, ask := <-seen, <-seen
	assert.Equal(t, "/api/v1/namespaces/cattle-fleet-clusters-system/serviceaccounts/fleet-provenance-probe/token", mint.path)
	assert.Equal(t, "Bearer the-hubs", mint.user)
	assert.Equal(t, "/apis/fleet.cattle.io/v1alpha1/namespaces/cattle-fleet-clusters-system/clusterregistrations", ask.path)
	assert.Equal(t, "dryRun=All", ask.query)
	assert.Equal(t, "Bearer of-the-probe", ask.user)
	meta, ok := ask.body["metadata"].(map[string]any)
	require.True(t, ok)
	assert.Equal(t, map[string]any{names.RegistrationTokenLabel: "provenance-probe"}, meta["labels"])
	assert.Equal(t, "request-provenance-probe", meta["name"])
}

func TestATroubledServerHasNotAnswered(t *testing.T) {
	for status, answer := range map[int]string{
		http.StatusInternalServerError: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"failed calling webhook"}`,
		http.StatusTooManyRequests:     `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,"message":"later"}`,
		http.StatusBadGateway:          `<html>`,
	} {
		s, _ := answering(t, status, answer)
		said, failure := s.try(t.Context())
		assert.NoError(t, said, status)
		require.Error(t, failure, status)
		assert.Equal(t, 1, countFailures(0, observation{served: true, failure: failure}))
	}
	s, _ := answering(t, http.StatusCreated, `{"kind":"ClusterRegistration","apiVersion":"fleet.cattle.io/v1alpha1","metadata":{"name":"request-provenance-probe"}}`)
	said, failure := s.try(t.Context())
	require.NoError(t, failure)
	require.NoError(t, said, "it was let through")
}
