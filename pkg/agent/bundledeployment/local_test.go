package bundledeployment

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func TestCopiesAreMadeOnBehalfOfTheServiceAccount(t *testing.T) {
	var user string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user = r.Header.Get("Impersonate-User")
		http.Error(w, "{}", http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	cfg := rest.AnonymousClientConfig(&rest.Config{Host: server.URL})
	cfg.Transport = &http.Transport{DisableKeepAlives: true}
	account := func(name string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: name}}
	}
	ask := func(l Local, name string) string {
		client, err := l.As(t.Context(), name)
		require.NoError(t, err)
		user = "nobody"
		_, _ = client.CoreV1().Secrets("apps").Get(t.Context(), "x", metav1.GetOptions{})
		return user
	}

	self := fake.NewClientset(account("deployer"))
	l := NewLocal(cfg, self, agentNamespace)
	assert.Equal(t, "system:serviceaccount:cattle-fleet-system:deployer", ask(l, "deployer"))
	assert.Equal(t, "nobody", ask(l, ""), "without a default one the agent acts itself")
	_, err := l.As(t.Context(), "missing")
	assert.ErrorContains(t, err, "looking up service account cattle-fleet-system/missing")

	l = NewLocal(cfg, fake.NewClientset(account("fleet-default"), account("fleet-agent"), account("deployer")), agentNamespace)
	assert.Equal(t, "system:serviceaccount:cattle-fleet-system:fleet-default", ask(l, ""))
	assert.Equal(t, "system:serviceaccount:cattle-fleet-system:deployer", ask(l, "deployer"))
	_, err = l.As(t.Context(), "fleet-agent")
	assert.ErrorContains(t, err, "is Fleet's own")
}
