package telemetry

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/kube/metricstest"
)

const metricsPage = "../../../docs/metrics.md"

func TestFiguresAreAsDocumented(t *testing.T) {
	h := newHub()
	h.start(t)
	metricstest.Documented(t, h.registry, metricsPage, "metrics:hub")
	metricstest.Lint(t, h.registry)
}

// Each attempt counts, unlike the condition, and what no attempt of this version ends with is told apart from what does.
func TestEachAttemptAtAnImportIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := NewMetrics(registry)
	require.NoError(t, err)
	for _, reason := range append([]string{"", "", "NoServerURL", "Surprise\n"}, append(attemptFailures, attemptFailures...)...) {
		metrics.ImportEnded(reason)
	}
	got := map[string]float64{}
	for _, m := range metricstest.Scrape(t, registry)["fleet_cluster_import_attempts_total"].GetMetric() {
		got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	want := map[string]float64{resultImported: 2, other: 2}
	for _, reason := range attemptFailures {
		want[reason] = 2
	}
	assert.Equal(t, want, got)
	assert.Subset(t, importFailures, attemptFailures)
}

// S06 and E13: what others choose, such as a name or a reason, makes no series, and nothing is left of what was deleted.
func TestNoSeriesComesOfWhatOthersChoose(t *testing.T) {
	h := newHub()
	h.start(t)
	series := func() (n int) {
		for _, family := range metricstest.Scrape(t, h.registry) {
			n += len(family.GetMetric())
		}
		return n
	}
	before := series()
	const many = 300
	for i := range many {
		reason := fmt.Sprintf("Reason\n%d\"}", i)
		h.clusters.Add(cluster(fmt.Sprintf("c-%d", i), isFalse("Imported", reason)))
		h.requests.Add(request(fmt.Sprintf("r-%d", i), isFalse(granted, reason)))
		h.tokens.Add(token(fmt.Sprintf("t-%d", i), isFalse("Ready", reason)))
	}
	h.counts(t, many, "fleet_clusters", map[string]string{"state": "Blocked", "joined_by": "agent"})
	h.counts(t, many, "fleet_registration_ungranted_requests", of("reason", "other"))
	h.counts(t, many, "fleet_registration_tokens", of("state", "Failing"))
	h.becomes(t, many, "fleet_registration_refusals_total", of("reason", "other"))
	h.becomes(t, many, "fleet_cluster_imports_total", of("result", "other"))
	assert.Equal(t, before, series())

	for i := range many {
		h.clusters.Delete(cluster(fmt.Sprintf("c-%d", i)))
		h.requests.Delete(request(fmt.Sprintf("r-%d", i)))
		h.tokens.Delete(token(fmt.Sprintf("t-%d", i)))
	}
	h.counts(t, 0, "fleet_clusters", map[string]string{"state": "Blocked", "joined_by": "agent"})
	h.counts(t, 0, "fleet_registration_ungranted_requests", of("reason", "other"))
	h.counts(t, 0, "fleet_registration_tokens", of("state", "Failing"))
	assert.Equal(t, before, series())
}

// Before the first list nobody knows how many there are, and 0 would be a lie.
func TestTheCensusIsSilentUntilTheCachesAreFilled(t *testing.T) {
	h := newHub()
	c := &collector{
		clusters: h.clusters, requests: h.requests, tokens: h.tokens, bundles: h.bundles, deployments: h.deployments, clock: h.clock,
	}
	assert.Empty(t, c.current())
	h.start(t)
	assert.NotEmpty(t, c.current())
}
