package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// freshFor is how long one census is good: however often somebody asks, the caches are walked through this often.
const freshFor = 5 * time.Second

var (
	clustersDesc = prometheus.NewDesc("fleet_clusters",
		"Clusters by state, as fleet cluster list shows it, and by how they join. Those of another manager are left out.", []string{"state", "joined_by"}, nil)
	credentialsDesc = prometheus.NewDesc("fleet_cluster_credentials",
		"Clusters by when a credential or CA of theirs ends, as status.credential says: each under the smallest term that holds, and under unknown where the status does not say. Clusters that are revoked, are being deleted or are another manager's are left out.",
		[]string{"credential", "ends"}, nil)
	ungrantedDesc = prometheus.NewDesc("fleet_registration_ungranted_requests",
		"Registration requests that are not granted, by the reason of condition Granted; Unanswered has none yet.", []string{"reason"}, nil)
	tokensDesc = prometheus.NewDesc("fleet_registration_tokens",
		"Registration tokens by state: Ready to be used, Waiting for moments, Failing until somebody does something, Leaving, Crowded with requests that lead to nothing, so that no more are kept.", []string{"state"}, nil)
)

// collector makes a census of the caches when it is asked. Before they have their first list it has nothing to say.
type collector struct {
	clusters, requests, tokens kube.Watched
	bundles, deployments       kube.Watched
	clock                      clock.PassiveClock

	mu      sync.Mutex
	taken   time.Time
	figures []prometheus.Metric
}

// Describe names what Collect has.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{clustersDesc, credentialsDesc, ungrantedDesc, tokensDesc, bundlesDesc, deploymentsDesc} {
		to <- desc
	}
}

// Collect makes the figures.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for _, figure := range c.current() {
		to <- figure
	}
}

func (c *collector) current() []prometheus.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range []kube.Watched{c.clusters, c.requests, c.tokens, c.bundles, c.deployments} {
		if !kind.Informer().HasSynced() {
			return nil
		}
	}
	if now := c.clock.Now(); c.figures == nil || now.Sub(c.taken) >= freshFor {
		c.figures, c.taken = figuresOf(c.count(now)), now
	}
	return c.figures
}

func (c *collector) count(now time.Time) census {
	out := newCensus()
	each(c.clusters, func(cluster *fleet.Cluster) { out.addCluster(cluster, now) })
	each(c.requests, out.addRequest)
	each(c.tokens, out.addToken)
	each(c.bundles, out.addBundle)
	each(c.deployments, out.addDeployment)
	return out
}

func each[T any](kind kube.Watched, add func(T)) {
	for _, obj := range kind.Informer().GetStore().List() {
		if o, ok := obj.(T); ok {
			add(o)
		}
	}
}

func figuresOf(c census) (out []prometheus.Metric) {
	add := func(desc *prometheus.Desc, labels int, figures map[pair]int) {
		for values, n := range figures {
			out = append(out, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), values[:labels]...))
		}
	}
	add(clustersDesc, 2, c.clusters)
	add(credentialsDesc, 2, c.credentials)
	add(ungrantedDesc, 1, c.ungranted)
	add(tokensDesc, 1, c.tokens)
	add(bundlesDesc, 2, c.bundles)
	add(deploymentsDesc, 2, c.deployments)
	return out
}
