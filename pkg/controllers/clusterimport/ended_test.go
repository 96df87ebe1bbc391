package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// attempts collects how attempts ended.
func (h *hub) attempts() *[]string {
	told := &[]string{}
	h.Ended = func(reason string) { *told = append(*told, reason) }
	return told
}

func TestTheEndOfEachAttemptIsToldOnce(t *testing.T) {
	h, d := importing(t)
	told := h.attempts()
	h.work1(t)
	assert.Empty(t, *told, "it waits for its token")
	h.answerToken(t)
	d.refuse("/deployments", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	for range 2 {
		require.Error(t, h.work(t.Context(), key))
	}
	assert.Equal(t, []string{"Forbidden", "Forbidden"}, *told, "each attempt counts, also for the same reason")
	d.Intercept(nil)
	h.work1(t)
	assert.Equal(t, []string{"Forbidden", "Forbidden", ""}, *told)
	h.change(t, connectedNow(h))
	h.work1(t)
	assert.Len(t, *told, 3, "nothing was to be done")

	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: append([]byte("# new\n"), d.kubeconfig...)}))
	h.work1(t)
	assert.Equal(t, []string{"Forbidden", "Forbidden", "", ""}, *told, "a changed kubeconfig leads to the same place")

	d.Remove("Deployment", system, "fleet-agent")
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: append([]byte("# newer\n"), d.kubeconfig...)}))
	h.importNow(t)
	assert.Equal(t, []string{"Forbidden", "Forbidden", "", "", ""}, *told, "a look that becomes an import is one attempt")
}

func TestWhatIsNoEndOfAnAttemptIsNotTold(t *testing.T) {
	h, d := joined(t)
	told := h.attempts()
	h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 1 })
	h.work1(t)
	h.answerToken(t)
	ctx, stop := context.WithCancel(t.Context())
	d.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		stop()
		d.Hang(r)
		return true
	})
	require.Error(t, h.work(ctx, key))
	assert.Empty(t, *told, "this hub stops")

	d.Intercept(nil)
	h.fails[noteStatus] = errors.New("no")
	require.Error(t, h.work(t.Context(), key))
	assert.NotContains(t, *told, "", "what cannot be noted is done again")
	delete(h.fails, noteStatus)
	h.work1(t)
	assert.Equal(t, "", (*told)[len(*told)-1])

	*told = nil
	require.NoError(t, h.outcome(t.Context(), factsOf(h.cluster()), install, fmt.Errorf("noting it: %w", errGone)))
	assert.Empty(t, *told, "its Cluster went")

	r := record(t, h)
	r.Previous = []string{"old"}
	h.change(t, recorded(r))
	h.change(t, connectedNow(h))
	d.put(everything("old")...)
	d.refuse("/old/", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	require.Error(t, h.work(t.Context(), key))
	assert.Empty(t, *told, "a removal is no import")
}
