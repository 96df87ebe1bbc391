package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/kube/metricstest"
)

const (
	expiry  = "fleet_agent_credential_expiry_timestamp_seconds"
	contact = "fleet_agent_last_contact_timestamp_seconds"
)

func newMetrics(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	require.NoError(t, err)
	return m, registry
}

func TestFiguresAreAsDocumented(t *testing.T) {
	m, registry := newMetrics(t)
	m.Credential(time.Unix(100, 0))
	m.Contact(time.Unix(100, 0))
	metricstest.Documented(t, registry, "../../../docs/metrics.md", "metrics:agent")
	metricstest.Lint(t, registry)
}

func TestWhatIsNotKnownIsNotShown(t *testing.T) {
	m, registry := newMetrics(t)
	assert.NotContains(t, metricstest.Scrape(t, registry), expiry)
	assert.NotContains(t, metricstest.Scrape(t, registry), contact)
	m.Credential(time.Unix(1893456000, 0))
	m.Contact(time.Unix(1800000000, 500_000_000))
	assert.Equal(t, 1893456000., metricstest.Scrape(t, registry)[expiry].GetMetric()[0].GetGauge().GetValue())
	assert.Equal(t, 1800000000.5, metricstest.Scrape(t, registry)[contact].GetMetric()[0].GetGauge().GetValue())
	m.Credential(time.Time{})
	assert.NotContains(t, metricstest.Scrape(t, registry), expiry, "the next one has no end")
}

func TestHeartbeatsAndHandshakesAreCounted(t *testing.T) {
	m, registry := newMetrics(t)
	for range 3 {
		m.HeartbeatSent()
	}
	m.HeartbeatFailed()
	m.Handshake(Registered)
	m.Handshake(NeverGranted)
	got := map[string]float64{}
	for _, family := range metricstest.Scrape(t, registry) {
		for _, series := range family.GetMetric() {
			if n := series.GetCounter().GetValue(); n != 0 {
				got[series.GetLabel()[0].GetValue()] = n
			}
		}
	}
	assert.Equal(t, map[string]float64{"sent": 3, "failed": 1, "registered": 1, "never_granted": 1}, got)
	_, err := New(registry)
	assert.Error(t, err)
}

func TestPartsOfAnAgentRunWithoutFigures(t *testing.T) {
	var m *Metrics
	m.HeartbeatSent()
	m.HeartbeatFailed()
	m.Handshake(Failed)
	m.Contact(time.Unix(1, 0))
	m.Credential(time.Unix(1, 0))
}
