package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Deploy is how one deployment of a bundle ended.
type Deploy string

// Results of deployments.
const (
	DeployDone   Deploy = "deployed"
	DeployFailed Deploy = "failed"
	DeployFinal  Deploy = "refused"
)

// Remove is how the removal of what was deployed ended.
type Remove string

// Results of removals.
const (
	RemoveDone      Remove = "uninstalled"
	RemoveForgotten Remove = "forgotten"
	RemoveFailed    Remove = "failed"
)

const corrected = "corrected"

// delivery are the figures of bundles.
type delivery struct {
	deploys, removals, corrections, reports *prometheus.CounterVec
	stuck                                   prometheus.Counter
	duration                                prometheus.Histogram
}

func newDelivery() delivery {
	counter := func(name, help string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"result"})
		for _, value := range values {
			c.WithLabelValues(value)
		}
		return c
	}
	return delivery{
		deploys: counter("fleet_agent_deploys_total",
			"Times that a bundle was installed or upgraded: deployed; refused, which is not tried again until the bundle changes; failed, which is.",
			string(DeployDone), string(DeployFailed), string(DeployFinal)),
		removals: counter("fleet_agent_removals_total",
			"Releases of bundles that the hub no longer has: uninstalled; forgotten, with their resources left alone; failed, which is tried again.",
			string(RemoveDone), string(RemoveForgotten), string(RemoveFailed)),
		corrections: counter("fleet_agent_drift_corrections_total",
			"Times that changes which others made to a release were reverted (corrected), or could not be (failed).", corrected, failed),
		reports: counter("fleet_agent_reports_total",
			"Statuses of bundles that the hub accepted (sent), and that it did not (failed). Where nothing has changed, none is sent.", sent, failed),
		stuck: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "fleet_agent_stuck_calls_total", Help: "Calls of Helm that did not end when they were told to. Their bundle is left alone until they do.",
		}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fleet_agent_deploy_duration_seconds", Help: "Time that an installation or upgrade took, however it ended.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900},
		}),
	}
}

func (d delivery) collectors() []prometheus.Collector {
	return []prometheus.Collector{d.deploys, d.removals, d.corrections, d.reports, d.stuck, d.duration}
}

// Deployed counts a deployment that has ended.
func (m *Metrics) Deployed(result Deploy, took time.Duration) {
	if m != nil {
		m.deploys.WithLabelValues(string(result)).Inc()
		m.duration.Observe(took.Seconds())
	}
}

// Removed counts the removal of a release.
func (m *Metrics) Removed(result Remove) {
	if m != nil {
		m.removals.WithLabelValues(string(result)).Inc()
	}
}

// Corrected counts an attempt to revert what others changed.
func (m *Metrics) Corrected(done bool) {
	if m != nil {
		m.corrections.WithLabelValues(either(done, corrected)).Inc()
	}
}

// Reported counts a status that was written.
func (m *Metrics) Reported(done bool) {
	if m != nil {
		m.reports.WithLabelValues(either(done, sent)).Inc()
	}
}

// Stuck counts a call that was given up waiting for.
func (m *Metrics) Stuck() {
	if m != nil {
		m.stuck.Inc()
	}
}

func either(done bool, word string) string {
	if done {
		return word
	}
	return failed
}
