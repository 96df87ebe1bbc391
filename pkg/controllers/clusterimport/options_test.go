package clusterimport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// lateOptions are settings that are found wanting only when the agent's objects are made from them.
var lateOptions = map[string]func(*fleet.Cluster){
	"spec.clientID": func(c *fleet.Cluster) { c.Spec.ClientID = "not a client/ID" },
}

// Only another Cluster helps: no try is made before that, and nothing is taken away.
func TestAnAgentThatCannotBeDescribedIsSaidOnceAndWaitedFor(t *testing.T) {
	for field, spoil := range lateOptions {
		for name, prepare := range map[string]func(*testing.T) (*hub, *downstream){"at first": importing, "once more": joined} {
			t.Run(field+" "+name, func(t *testing.T) {
				h, d := prepare(t)
				id := h.cluster().Spec.ClientID
				h.change(t, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration++; spoil(c) })
				_, _, err := agentmanifest.Effective(h.cluster(), settings(h.source.Get()))
				require.NoError(t, err, "it is not found before")
				for range 3 {
					h.work1(t)
				}
				assert.Equal(t, []string{noteStatus}, h.writes(), "one status, no token, no retry")
				assert.Equal(t, "InvalidAgentOptions", h.imported(t).Reason)
				assert.Contains(t, h.imported(t).Message, field)
				assert.Empty(t, d.Requests())

				h.change(t, func(c *fleet.Cluster) { c.Spec.ClientID = id })
				h.importNow(t)
				assert.Equal(t, "Imported", h.imported(t).Reason)
				assert.Equal(t, int64(1), *h.cluster().Status.AgentDeployedGeneration)
			})
		}
	}
}

// The same where it is found out in the middle of an import: the queue does not bring it back.
func TestOptionsThatAreRefusedInAnImportAreFinal(t *testing.T) {
	for field, spoil := range lateOptions {
		h, d := importing(t)
		client, err := h.connect(h.client(t, d))
		require.NoError(t, err)
		defer client.Close()
		err = h.deploy(t.Context(), client, factsOf(cluster(spoil)), site{}, registration.Bootstrap{})
		require.ErrorContains(t, err, field)
		require.NoError(t, h.outcome(t.Context(), h.client(t, d), install, err))
		assert.Equal(t, "InvalidAgentOptions", h.imported(t).Reason)
		assert.Empty(t, d.Writes())
	}
}
