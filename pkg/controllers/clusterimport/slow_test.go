package clusterimport

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// Each call has a bound of its own, which a cluster can stay below call after call.
func TestAnImportAsAWholeHasAnEnd(t *testing.T) {
	slowly := func(w http.ResponseWriter, r *http.Request) bool {
		select {
		case <-r.Context().Done():
		case <-time.After(60 * time.Millisecond):
		}
		return false
	}
	for name, answer := range map[string]func(d *downstream) func(http.ResponseWriter, *http.Request) bool{
		"a cluster that never answers": func(d *downstream) func(http.ResponseWriter, *http.Request) bool {
			return func(_ http.ResponseWriter, r *http.Request) bool { d.Hang(r); return true }
		},
		"a cluster that answers each call late": func(*downstream) func(http.ResponseWriter, *http.Request) bool { return slowly },
		"a cluster that hangs in the middle": func(d *downstream) func(http.ResponseWriter, *http.Request) bool {
			return func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet {
					return false
				}
				d.Hang(r)
				return true
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, d := importing(t)
			h.work1(t)
			h.answerToken(t)
			h.patience = 300 * time.Millisecond
			d.Intercept(answer(d))

			begin := time.Now()
			err := h.work(t.Context(), key)

			assert.Less(t, time.Since(begin), callTimeout/2)
			require.ErrorContains(t, err, "Unreachable")
			assert.Equal(t, "Unreachable", h.imported(t).Reason)
			assert.Contains(t, h.imported(t).Message, "not done after 300ms")
			h.writes()
			require.Error(t, h.work(t.Context(), key))
			assert.NotContains(t, h.writes(), noteStatus, "it reads the same wherever it was cut")

			d.Intercept(nil)
			h.patience = importPatience
			h.work1(t)
			assert.Equal(t, "Imported", h.imported(t).Reason)
		})
	}
}

// A hub that is stopped in the middle of an import has learned nothing about the cluster.
func TestAHubThatStopsCallsNoImportFailed(t *testing.T) {
	h, d := joined(t)
	h.configure(t, map[string]any{"apiServerURL": "https://moved.example.com"})
	h.work1(t)
	h.answerToken(t)
	ctx, stop := context.WithCancel(t.Context())
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		stop()
		d.Hang(r)
		return true
	})
	h.writes()

	require.Error(t, h.work(ctx, key))

	assert.Empty(t, h.writes())
	assert.Equal(t, metav1.ConditionTrue, metav1.ConditionStatus(conditions.GetCondition(h.cluster().Status.Conditions, fleet.ClusterConditionImported).Status))
}
