package telemetry

import (
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// durationBuckets go from 10 ms to 10 min.
var durationBuckets = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// Metrics are the figures that are counted as things happen. Each value of each label is there from the start, at 0.
type Metrics struct {
	registry                                 prometheus.Registerer
	handshakes, refusals, imports, dropped   *prometheus.CounterVec
	attempts                                 *prometheus.CounterVec
	bundleRefusals                           *prometheus.CounterVec
	heartbeats, deploymentFailures           prometheus.Counter
	provenance                               prometheus.Gauge
	grantDuration, useDuration, joinDuration prometheus.Histogram
	rolloutDuration, applyDuration           prometheus.Histogram
	collectors                               []prometheus.Collector
	err                                      error
}

// NewMetrics registers the figures. A process has them only while it leads: see Close.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{registry: registry}
	m.handshakes = m.counters("fleet_registration_handshakes_total",
		"What became of registration requests. granted; used: the agent was seen with the credential; refused, once for each reason; denied by a person; taken_back: a grant; expired: a grant that no agent took before its import account ended; abandoned: deleted without having been granted or denied.",
		"result", results)
	m.refusals = m.counters("fleet_registration_refusals_total",
		"Times that a registration request was refused, or refused for another reason than before. Waits that end by themselves and denials are left out.",
		"reason", withOther(requestRefusals))
	m.grantDuration = m.histogram("fleet_registration_grant_duration_seconds",
		"Time from when this hub first saw a registration request, or its approval, until it was granted.")
	m.useDuration = m.histogram("fleet_registration_use_duration_seconds",
		"Time from the grant of a registration request until the hub saw the credential in use.")
	m.joinDuration = m.histogram("fleet_registration_join_duration_seconds",
		"Time from when this hub first saw a registration request, or its approval, until it saw the credential in use, which makes the cluster Registered.")
	m.imports = m.counters("fleet_cluster_imports_total",
		"Imports that were done (imported), and times that condition Imported became False for a reason, or for another one. A failure that repeats itself for the same reason counts once; what was ordered (LocalAgentDisabled, Revoked) does not count.",
		"result", append([]string{resultImported}, withOther(importFailures)...))
	m.attempts = m.counters("fleet_cluster_import_attempts_total",
		"Attempts at an import, by how each ended: it was done (imported), or the reason that condition Imported got. Each counts, also where the last one ended in the same way. One that waits for its token, that was overtaken by a change of its Cluster, or that the end of the hub cut off, has no end.",
		"result", append([]string{resultImported}, withOther(attemptFailures)...))
	m.heartbeats = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fleet_cluster_heartbeats_total", Help: "Renewals of the Leases of agents that this hub saw.",
	})
	m.provenance = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "fleet_registration_provenance_enforced",
		Help: "1 while it is proved that the API server checks what registration requests say of their origin, else 0: condition ProvenanceEnforced of registration tokens.",
	})
	m.dropped = m.counters("fleet_events_dropped_total",
		"Events that this hub left out: there were too many of one object or of all, or one about a decision could not be written.",
		"type", []string{corev1.EventTypeNormal, corev1.EventTypeWarning})
	m.register(m.heartbeats)
	m.register(m.provenance)
	m.addDelivery()
	return m, m.err
}

// addDelivery registers what is counted of bundles.
func (m *Metrics) addDelivery() {
	m.bundleRefusals = m.counters("fleet_bundle_refusals_total",
		"Times that nothing could be done for a bundle, or for another reason than before, until somebody does something: the reasons of its condition Ready.",
		"reason", withOther(bundleRefusals))
	m.deploymentFailures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "fleet_bundledeployment_failures_total",
		Help: "Times that an agent reported that it could not apply the version which it is to have; once for each version that fails.",
	})
	m.rolloutDuration = m.histogram("fleet_bundle_rollout_duration_seconds",
		"Time from when this hub saw a bundle that was made or changed until all its clusters were ready.")
	m.applyDuration = m.histogram("fleet_bundledeployment_apply_duration_seconds",
		"Time from when this hub released a version to a cluster until it saw that its agent applied it.")
	m.register(m.deploymentFailures)
}

// EventDropped counts an Event that was left out.
func (m *Metrics) EventDropped(eventType string) { m.dropped.WithLabelValues(eventType).Inc() }

// ImportEnded counts an attempt at an import: "" where it was done, else the reason why not.
func (m *Metrics) ImportEnded(reason string) {
	result := resultImported
	if reason != "" {
		result = known(attemptFailures, reason)
	}
	m.attempts.WithLabelValues(result).Inc()
}

// ProvenanceEnforced says whether it is proved that the origin of requests is checked.
func (m *Metrics) ProvenanceEnforced(enforced bool) {
	value := 0.0
	if enforced {
		value = 1
	}
	m.provenance.Set(value)
}

// Close takes the figures out of the registry.
func (m *Metrics) Close() {
	for _, c := range m.collectors {
		m.registry.Unregister(c)
	}
}

func (m *Metrics) register(c prometheus.Collector) {
	if err := m.registry.Register(c); err != nil {
		m.err = errors.Join(m.err, fmt.Errorf("registering figures: %w", err))
		return
	}
	m.collectors = append(m.collectors, c)
}

func (m *Metrics) counters(name, help, label string, values []string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		vec.WithLabelValues(value)
	}
	m.register(vec)
	return vec
}

func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durationBuckets})
	m.register(h)
	return h
}

// count adds what an announcement says.
func (m *Metrics) count(c count) {
	switch c.of {
	case handshakes:
		m.handshakes.WithLabelValues(c.label).Inc()
	case refusals:
		m.refusals.WithLabelValues(c.label).Inc()
	case imports:
		m.imports.WithLabelValues(c.label).Inc()
	case bundleRefused:
		m.bundleRefusals.WithLabelValues(c.label).Inc()
	case deploymentFailed:
		m.deploymentFailures.Inc()
	}
}

func withOther(values []string) []string { return append(slices.Clone(values), other) }
