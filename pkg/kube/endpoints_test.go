package kube

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

// answers says which paths get an answer at an address, as soon as the first of them does.
func answers(t *testing.T, addr string, first string) []string {
	t.Helper()
	code := func(path string) int {
		code, _ := get(t, "http://"+addr+path)
		return code
	}
	require.Eventually(t, func() bool { return code(first) == http.StatusOK }, deadlineFor, 5*time.Millisecond)
	var paths []string
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/", "/other"} {
		if code(path) == http.StatusOK {
			paths = append(paths, path)
		}
	}
	return paths
}

func TestMetricsAndHealthAreBothServed(t *testing.T) {
	one, two := freeAddress(t), freeAddress(t)
	for name, test := range map[string]struct {
		metrics, health string
		want            map[string][]string
	}{
		"at addresses of their own": {one, two, map[string][]string{one: {"/metrics"}, two: {"/healthz", "/readyz"}}},
		"at the same address":       {one, one, map[string][]string{one: {"/metrics", "/healthz", "/readyz"}}},
		"metrics alone":             {one, "0", map[string][]string{one: {"/metrics"}}},
		"health alone":              {"", two, map[string][]string{two: {"/healthz", "/readyz"}}},
		"neither":                   {"0", "0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			quiet(t)
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				Endpoints{
					MetricsAddress: test.metrics, Metrics: MetricsHandler(prometheus.NewRegistry()),
					HealthAddress: test.health, Health: HealthHandler(nil, nil),
				}.Serve(ctx)
			}()
			for addr, paths := range test.want {
				assert.Equal(t, paths, answers(t, addr, paths[0]), addr)
			}
			cancel()
			receive(t, ended, "the end of serving")
		})
	}
}
