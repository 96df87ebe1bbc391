// Package metrics has the figures of an agent: how its handshakes ended, whether its heartbeats arrive, when its
// credential ends, and what became of the bundles. docs/metrics.md lists them.
//
// It may import the Prometheus client. A nil *Metrics counts nothing, so that parts of the agent run without it.
package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Result is how one attempt to register ended.
type Result string

// Results of attempts.
const (
	Registered   Result = "registered"
	TokenRefused Result = "token_refused"
	RequestGone  Result = "request_gone"
	NeverGranted Result = "never_granted"
	Unanswered   Result = "unanswered"
	NotForUs     Result = "not_for_us"
	Failed       Result = "failed"
)

var results = []Result{Registered, TokenRefused, RequestGone, NeverGranted, Unanswered, NotForUs, Failed}

const sent, failed = "sent", "failed"

var (
	expiryDesc = prometheus.NewDesc("fleet_agent_credential_expiry_timestamp_seconds",
		"When the credential ends that the agent uses. Absent while it uses none, such as one that the hub refuses, and for one without an end.", nil, nil)
	contactDesc = prometheus.NewDesc("fleet_agent_last_contact_timestamp_seconds",
		"When the hub last accepted a heartbeat, a report or a new credential of this agent. Absent before.", nil, nil)
)

// Metrics are the figures of one process.
type Metrics struct {
	delivery
	handshakes, heartbeats *prometheus.CounterVec
	// expiry and contact are in nanoseconds since 1970, 0 while there is none.
	expiry, contact atomic.Int64
}

// New registers the figures.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		delivery: newDelivery(),
		handshakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fleet_agent_handshakes_total",
			Help: "Attempts to register, by how they ended: registered; token_refused by the hub; request_gone, never_granted, unanswered: another request is made; not_for_us: the credential was sealed for another; failed otherwise. An attempt that waits has not ended.",
		}, []string{"result"}),
		heartbeats: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fleet_agent_heartbeats_total", Help: "Heartbeats that the hub accepted (sent), and that it did not (failed).",
		}, []string{"result"}),
	}
	for _, r := range results {
		m.handshakes.WithLabelValues(string(r))
	}
	m.heartbeats.WithLabelValues(sent)
	m.heartbeats.WithLabelValues(failed)
	for _, c := range append(m.collectors(), m.handshakes, m.heartbeats, times{m}) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Handshake counts an attempt that has ended.
func (m *Metrics) Handshake(r Result) {
	if m != nil {
		m.handshakes.WithLabelValues(string(r)).Inc()
	}
}

// HeartbeatSent counts a heartbeat that has arrived.
func (m *Metrics) HeartbeatSent() { m.heartbeat(sent) }

// HeartbeatFailed counts a heartbeat that did not arrive.
func (m *Metrics) HeartbeatFailed() { m.heartbeat(failed) }

func (m *Metrics) heartbeat(result string) {
	if m != nil {
		m.heartbeats.WithLabelValues(result).Inc()
	}
}

// Contact notes that the hub has accepted something.
func (m *Metrics) Contact(now time.Time) {
	if m != nil {
		m.contact.Store(now.UnixNano())
	}
}

// Credential notes when the credential ends that is used from now on; the zero time means never, or that none is used.
func (m *Metrics) Credential(expires time.Time) {
	switch {
	case m == nil:
	case expires.IsZero():
		m.expiry.Store(0)
	default:
		m.expiry.Store(expires.UnixNano())
	}
}

// times shows the two points in time, where they are known.
type times struct{ *Metrics }

// Describe names what Collect has.
func (t times) Describe(to chan<- *prometheus.Desc) {
	to <- expiryDesc
	to <- contactDesc
}

// Collect makes the figures.
func (t times) Collect(to chan<- prometheus.Metric) {
	for desc, nanoseconds := range map[*prometheus.Desc]int64{expiryDesc: t.expiry.Load(), contactDesc: t.contact.Load()} {
		if nanoseconds != 0 {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(nanoseconds)/float64(time.Second))
		}
	}
}
