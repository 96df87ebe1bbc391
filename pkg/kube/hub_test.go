package kube

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const systemNamespace = "cattle-fleet-system"

func newHub(t *testing.T, server *kubetest.Server) *Hub {
	t.Helper()
	hub, err := NewHub(context.Background(), server.Config(), HubOptions{SystemNamespace: systemNamespace, UserAgent: "fleet-controller/test", Workers: 2})
	require.NoError(t, err)
	return hub
}

// start starts a hub and ends it with the test.
func start(t *testing.T, hub *Hub) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	began := make(chan error, 1)
	go func() { began <- hub.Start(ctx) }()
	require.NoError(t, receive(t, began, "the hub's start"))
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// The option that lasso's factories have for a namespace is ignored when they share a controller factory: what really is
// asked for is what counts.
func TestCachesAskOnlyForTheirScope(t *testing.T) {
	server := kubetest.New(t)
	hub := newHub(t, server)
	hub.Core.Namespace().Cache()
	hub.Core.Secret().Cache()
	hub.Core.ConfigMap().Cache()
	hub.Core.ServiceAccount().Cache()
	hub.RBAC.Role().Cache()
	hub.RBAC.RoleBinding().Cache()
	hub.RBAC.ClusterRole().Cache()
	hub.RBAC.ClusterRoleBinding().Cache()
	hub.Coordination.Lease().Cache()
	hub.Fleet.Cluster().Cache()

	start(t, hub)

	type scope struct{ labels, fields string }
	const managed = "fleet.cattle.io/managed=true"
	want := map[string]scope{
		"/api/v1/namespaces": {},
		"/api/v1/secrets":    {fields: "type!=helm.sh/release.v1"},
		"/api/v1/namespaces/" + systemNamespace + "/configmaps":  {},
		"/api/v1/serviceaccounts":                                {labels: managed},
		"/apis/rbac.authorization.k8s.io/v1/roles":               {labels: managed},
		"/apis/rbac.authorization.k8s.io/v1/rolebindings":        {labels: managed},
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":        {labels: managed},
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": {labels: managed},
		"/apis/coordination.k8s.io/v1/leases":                    {labels: managed},
		"/apis/fleet.cattle.io/v1alpha1/clusters":                {},
	}
	seen := map[string]bool{}
	for _, request := range server.Requests() {
		expected, ok := want[request.Path]
		if assert.True(t, ok, "nobody may ask for %s", request.Path) {
			assert.Equal(t, expected, scope{request.LabelSelector, request.FieldSelector}, request.Path)
		}
		assert.Equal(t, "fleet-controller/test", request.UserAgent)
		if request.Verb == "watch" {
			seen[request.Path] = true
		}
	}
	assert.Len(t, seen, len(want), "every cache watches")
}

// Without this a missing CRD, or a missing right, makes the start wait for ever without a word.
func TestStartNamesTheKindsThatAreNotServed(t *testing.T) {
	server := kubetest.New(t, kubetest.HubKinds("ClusterRegistration", "Bundle")...)
	hub := newHub(t, server)
	hub.Fleet.Cluster().Cache()
	hub.Fleet.ClusterRegistration().Cache()
	hub.Fleet.Bundle().Cache()

	err := hub.Start(testContext(t))

	require.Error(t, err)
	for _, part := range []string{"kind Bundle", "kind ClusterRegistration:", "clusterregistrations.fleet.cattle.io", "charts/fleet-crd"} {
		assert.ErrorContains(t, err, part)
	}
	assert.NotContains(t, err.Error(), "kind Cluster:")
}

func TestStartNamesTheKindsThatMayNotBeListed(t *testing.T) {
	server := kubetest.New(t)
	server.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/leases") {
			kubetest.Fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "no")
			return true
		}
		return false
	})
	hub := newHub(t, server)
	hub.Coordination.Lease().Cache()

	err := hub.Start(testContext(t))

	assert.ErrorContains(t, err, "kind Lease: this account may not list leases.coordination.k8s.io")
}

func TestStartStopsWithItsContextWhileItWaits(t *testing.T) {
	server := kubetest.New(t)
	waiting := make(chan struct{}, 100)
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isWatchRequest(r) {
			return false
		}
		waiting <- struct{}{}
		server.Hang(r)
		return true
	})
	hub := newHub(t, server)
	hub.Core.Secret().Cache()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- hub.Start(ctx) }()
	receive(t, waiting, "the first watch")

	cancel()

	assert.ErrorIs(t, receive(t, ended, "the end of the start"), context.Canceled)
}

func TestCachesHoldNoManagedFields(t *testing.T) {
	server := kubetest.New(t)
	before := secret("ns", "s")
	before.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "someone", Operation: metav1.ManagedFieldsOperationApply}}
	before.Labels = map[string]string{"kept": "yes"}
	server.Put(before)
	hub := newHub(t, server)
	cache := hub.Core.Secret().Cache()
	start(t, hub)

	got, err := cache.Get("ns", "s")

	require.NoError(t, err)
	assert.Empty(t, got.ManagedFields)
	assert.Equal(t, "yes", got.Labels["kept"])
}

func TestChangesReachTheHandlers(t *testing.T) {
	server := kubetest.New(t)
	hub := newHub(t, server)
	keys := make(chan string, 10)
	hub.Fleet.Cluster().OnChange(t.Context(), "test", func(key string, c *fleet.Cluster) (*fleet.Cluster, error) {
		keys <- key
		return c, nil
	})
	start(t, hub)

	server.Put(&fleet.Cluster{TypeMeta: metav1.TypeMeta{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Cluster"}, ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "edge"}})

	assert.Equal(t, "fleet-default/edge", receive(t, keys, "the handler"))
	got, err := hub.Fleet.Cluster().Cache().List("fleet-default", labels.Everything())
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

// Lasso's own wait after a failed list takes 15 seconds at least, for one cache after the other.
func TestCachesAreBackSoonAfterAnOutage(t *testing.T) {
	server := kubetest.New(t)
	hub := newHub(t, server)
	cache := hub.Core.Secret().Cache()
	start(t, hub)
	var refused atomic.Int32
	server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		refused.Add(1)
		kubetest.Fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "out")
		return true
	})
	server.Disconnect()
	require.Eventually(t, func() bool { return refused.Load() > 2 }, deadlineFor, 10*time.Millisecond)

	server.Intercept(nil)
	server.Put(secret("ns", "after"))
	begin := time.Now()

	require.Eventually(t, func() bool { _, err := cache.Get("ns", "after"); return err == nil }, deadlineFor, 10*time.Millisecond)
	assert.Less(t, time.Since(begin), 12*time.Second)
}

func TestManyDebouncedEventsMakeOneRun(t *testing.T) {
	server := kubetest.New(t)
	hub := newHub(t, server)
	var runs atomic.Int32
	hub.Core.Secret().OnChange(t.Context(), "test", func(key string, s *corev1.Secret) (*corev1.Secret, error) {
		if key == "ns/parent" {
			runs.Add(1)
		}
		return s, nil
	})
	start(t, hub)

	const delay = 300 * time.Millisecond
	enqueuer := Debounced(hub.Core.Secret(), delay)
	began := time.Now()
	for range 500 {
		enqueuer.Enqueue("ns", "parent")
	}
	delays := int32(time.Since(began) / delay) // on a busy machine the events themselves may outlast a delay

	require.Eventually(t, func() bool { return runs.Load() > 0 }, deadlineFor, 10*time.Millisecond)
	time.Sleep(2 * delay) // the window in which a second run would come
	assert.LessOrEqual(t, runs.Load(), 1+delays)
}

// Enqueue of a controller counts as a failure and doubles the wait each time; without a success in between 15 of them
// wait for more than two minutes.
func TestUndelayedEventsAreNotSlowedDown(t *testing.T) {
	recorded := []time.Duration{}
	enqueuer := Debounced(enqueueAfter(func(_, _ string, d time.Duration) { recorded = append(recorded, d) }), 0)
	scoped := DebouncedClusterScoped(enqueueNameAfter(func(_ string, d time.Duration) { recorded = append(recorded, d) }), time.Second)
	for range 15 {
		enqueuer.Enqueue("ns", "name")
	}
	scoped.Enqueue("name")

	want := slices.Repeat([]time.Duration{0}, 15)
	assert.Equal(t, append(want, time.Second), recorded)
}

type enqueueAfter func(namespace, name string, d time.Duration)

func (f enqueueAfter) EnqueueAfter(namespace, name string, d time.Duration) { f(namespace, name, d) }

type enqueueNameAfter func(name string, d time.Duration)

func (f enqueueNameAfter) EnqueueAfter(name string, d time.Duration) { f(name, d) }

func TestOnlyClustersHaveABackOffOfTheirOwn(t *testing.T) {
	limiters := hubLimiters()
	require.Len(t, limiters, 1)
	limiter := limiters[fleet.SchemeGroupVersion.WithKind("Cluster")]
	require.NotNil(t, limiter)
	assert.Equal(t, 2*time.Second, limiter.When("a/b"))
	assert.Equal(t, 4*time.Second, limiter.When("a/b"))
	assert.Equal(t, 2*time.Second, limiter.When("a/c"), "each cluster has its own")
	for range 20 {
		limiter.When("a/b")
	}
	assert.Equal(t, 10*time.Minute, limiter.When("a/b"))
}

func TestHubNeedsItsNamespace(t *testing.T) {
	_, err := NewHub(context.Background(), kubetest.New(t).Config(), HubOptions{})
	assert.ErrorContains(t, err, "--namespace")
}
