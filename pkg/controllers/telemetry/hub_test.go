package telemetry

import (
	"context"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// kind is an informer over objects that a test adds and changes.
type kind struct {
	*cachetesting.FakeControllerSource
	informer cache.SharedIndexInformer
}

func newKind(example runtime.Object) *kind {
	source := cachetesting.NewFakeControllerSource()
	return &kind{source, cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{})}
}

func (k *kind) Informer() cache.SharedIndexInformer { return k.informer }

// hub is the observer over informers whose objects a test changes.
type hub struct {
	clusters, requests, tokens, leases *kind
	bundles, deployments               *kind
	clients                            *fake.Clientset
	registry                           *prometheus.Registry
	clock                              *clocktesting.FakePassiveClock
}

func newHub() *hub {
	return &hub{
		clusters: newKind(&fleet.Cluster{}), requests: newKind(&fleet.ClusterRegistration{}),
		tokens: newKind(&fleet.ClusterRegistrationToken{}), leases: newKind(&coordinationv1.Lease{}),
		bundles: newKind(&fleet.Bundle{}), deployments: newKind(&fleet.BundleDeployment{}),
		clients: fake.NewClientset(), registry: prometheus.NewRegistry(), clock: clocktesting.NewFakePassiveClock(began),
	}
}

func (h *hub) kinds() []*kind {
	return []*kind{h.clusters, h.requests, h.tokens, h.leases, h.bundles, h.deployments}
}

// start runs the observer until the test ends or stop is called, which returns when all has ended.
func (h *hub) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	metrics, err := NewMetrics(h.registry)
	require.NoError(t, err)
	const component = "fleet-controller"
	run, err := Register(ctx, Deps{
		Clusters: h.clusters, Registrations: h.requests, Tokens: h.tokens, Leases: h.leases, Bundles: h.bundles, Deployments: h.deployments, Clients: h.clients,
		Events: kube.NewRecorder(ctx, h.clients, kube.EventOptions{
			Component: component, PerSecond: 10, Burst: 50, Dropped: metrics.EventDropped, Clock: h.clock,
		}),
		Component: component, Metrics: metrics, Clock: h.clock,
	})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	for _, k := range h.kinds() {
		running.Go(func() { k.informer.Run(ctx.Done()) })
	}
	for _, k := range h.kinds() {
		require.True(t, cache.WaitForCacheSync(ctx.Done(), k.informer.HasSynced))
	}
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		for _, k := range h.kinds() {
			k.Shutdown()
		}
	})
	t.Cleanup(stop)
	return stop
}

// events are those written so far, as "type reason kind/name".
func (h *hub) events(t *testing.T) []corev1.Event {
	t.Helper()
	list, err := h.clients.CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func words(events []corev1.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Type+" "+e.Reason+" "+e.InvolvedObject.Kind+"/"+e.InvolvedObject.Name)
	}
	return out
}

// figure is the value of a series, and whether it is there. Labels are given as in its text form.
func (h *hub) figure(t *testing.T, name string, labels map[string]string) (float64, bool) {
	t.Helper()
	families, err := h.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			have := map[string]string{}
			for _, pair := range m.GetLabel() {
				have[pair.GetName()] = pair.GetValue()
			}
			if family.GetName() != name || len(have) != len(labels) {
				continue
			}
			same := true
			for key, value := range labels {
				same = same && have[key] == value
			}
			if same {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
			}
		}
	}
	return 0, false
}

// becomes waits for the value of a series.
func (h *hub) becomes(t *testing.T, want float64, name string, labels map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool { value, ok := h.figure(t, name, labels); return ok && value == want }, soon, tick,
		"%s %v is not %v", name, labels, want)
}

// counts waits for the value of a series of the census, and lets the time pass for which one is good.
func (h *hub) counts(t *testing.T, want float64, name string, labels map[string]string) {
	t.Helper()
	require.Eventually(t, func() bool {
		h.clock.SetTime(h.clock.Now().Add(freshFor))
		value, ok := h.figure(t, name, labels)
		return ok && value == want
	}, soon, tick, "%s %v is not %v", name, labels, want)
}
