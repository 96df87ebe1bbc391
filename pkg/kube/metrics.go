package kube

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rancher/lasso/pkg/metrics"
)

// NewRegistry has the figures of lasso's controllers, of all work queues, of the process and of the Go runtime. It has to
// be made before the first queue, which looks for its metrics when it starts; a process makes it once.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	metrics.MustRegisterWithWorkqueue(registry)
	return registry
}

// MetricsHandler answers /metrics.
func MetricsHandler(registry prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}
