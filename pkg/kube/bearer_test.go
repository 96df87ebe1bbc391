package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// asked is whom a server saw.
type asked struct{ user, agent string }

func TestABearerComesWithItsTokenAlone(t *testing.T) {
	seen := make(chan asked, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- asked{r.Header.Get("Authorization"), r.UserAgent()}
		http.Error(w, "{}", http.StatusNotFound)
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL, BearerToken: "the-hubs-own", UserAgent: "hub"}

	bearer, err := AsBearer(cfg, "of-the-probe", "probe")
	require.NoError(t, err)
	_, err = bearer.Resource(definitions).Get(testContext(t), "any", metav1.GetOptions{})
	require.Error(t, err)
	assert.Equal(t, asked{"Bearer of-the-probe", "probe"}, receive(t, seen, "the request of the bearer"))

	named, err := ClientsNamed(cfg, "probe")
	require.NoError(t, err)
	_, err = named.CoreV1().Namespaces().Get(testContext(t), "any", metav1.GetOptions{})
	require.Error(t, err)
	assert.Equal(t, asked{"Bearer the-hubs-own", "probe"}, receive(t, seen, "the request of the named client"))
	assert.Equal(t, "the-hubs-own", cfg.BearerToken)
	assert.Equal(t, "hub", cfg.UserAgent)
}
