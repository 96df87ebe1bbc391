package kube

import (
	"context"
	"net/http"
	"sync"
)

// Endpoints are what a process answers, see MetricsHandler and HealthHandler, and where. An address of "" or "0" switches
// its handler off; the same address for both serves both.
type Endpoints struct {
	MetricsAddress, HealthAddress string
	Metrics, Health               http.Handler
}

// Serve answers until ctx is done, and blocks so long. See Serve for a port that is taken.
func (e Endpoints) Serve(ctx context.Context) {
	var servers sync.WaitGroup
	defer servers.Wait()
	if e.MetricsAddress == e.HealthAddress {
		both := http.NewServeMux()
		both.Handle("/metrics", e.Metrics)
		both.Handle("/", e.Health)
		servers.Go(func() { Serve(ctx, e.HealthAddress, both) })
		return
	}
	servers.Go(func() { Serve(ctx, e.MetricsAddress, e.Metrics) })
	servers.Go(func() { Serve(ctx, e.HealthAddress, e.Health) })
}
