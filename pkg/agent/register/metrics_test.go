package register

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/kube/metricstest"
	"github.com/rancher/fleet/pkg/registration"
)

// An alert on the end of a credential must not look at one that the hub refuses.
func TestTheEndOfACredentialIsShownWhileItIsInUse(t *testing.T) {
	registry := prometheus.NewRegistry()
	h, w := newHub(t, hubtest.Options{}), newWorld(t)
	var err error
	w.metrics, err = metrics.New(registry)
	require.NoError(t, err)
	shown := func() float64 {
		families := metricstest.Scrape(t, registry)
		if family := families["fleet_agent_credential_expiry_timestamp_seconds"]; family != nil {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
		return 0
	}
	end := func(c stored) float64 {
		claims, err := registration.ParseClaims(c.token)
		require.NoError(t, err)
		require.False(t, claims.Expires.IsZero())
		return float64(claims.Expires.Unix())
	}
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	c := w.registered(a)
	assert.Equal(t, end(c), shown())

	h.Revoke(c.token)
	a.listener().Refused()
	w.eventually("the refused one is no longer shown", func() bool { return shown() == 0 })

	w.putBootstrap(h.Bootstrap())
	again := w.registered(a)
	assert.Equal(t, end(again), shown())
}
