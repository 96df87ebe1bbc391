package kube

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

func TestACallWithoutAnAnswerEndsAndAWatchDoesNot(t *testing.T) {
	server := kubetest.New(t)
	cfg := server.Config()
	const limit = 200 * time.Millisecond
	WithCallTimeout(cfg, limit)
	clients, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	ctx := testContext(t)

	watch, err := clients.CoreV1().Secrets("ns").Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer watch.Stop()

	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if isWatchRequest(r) {
			return false
		}
		server.Hang(r)
		return true
	})
	begin := time.Now()
	_, err = clients.CoreV1().Secrets("ns").Get(ctx, "s", metav1.GetOptions{})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.GreaterOrEqual(t, time.Since(begin), limit)

	// By now the watch is older than a call may be.
	server.Put(&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}})
	event := receive(t, watch.ResultChan(), "an event on the old watch")
	assert.Equal(t, "s", event.Object.(*corev1.Secret).Name)
}

func isWatchRequest(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

func TestTheBodyIsReadWithinTheDeadlineToo(t *testing.T) {
	server := kubetest.New(t)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		server.Hang(r)
		return true
	})
	cfg := server.Config()
	WithCallTimeout(cfg, 200*time.Millisecond)
	clients, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)

	_, err = clients.CoreV1().Secrets("ns").Get(testContext(t), "s", metav1.GetOptions{})

	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
