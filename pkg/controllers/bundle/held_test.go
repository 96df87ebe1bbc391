package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// suspect puts a cluster under suspicion, or ends it, and tells the handler.
func (w *world) suspect(name string, suspected bool) {
	before := w.clusters.Live(workspace, name)
	after := before.DeepCopy()
	after.Annotations = nil
	if suspected {
		after.Annotations = map[string]string{names.CloneAnnotation: `{"why":"they take turns"}`}
	}
	w.clusters.Add(after)
	w.bundles.ForgetTimers()
	w.h.onCluster(before, w.clusters.Live(workspace, name))
	require.True(w.t, w.woken())
}

// A copy of an agent would get what the agent gets.
func TestAClusterWithTwoAgentsIsGivenNothingNewUntilThatIsApproved(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.agentsReport()
	w.mustLook()
	had := w.deployment("a").Spec
	w.suspect("a", true)
	w.addCluster("c", prod)
	w.suspect("c", true)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Generation = 2; b.Spec.Resources[0].Content = "other" }))
	for range 3 {
		w.mustLook()
		w.agentsReport()
	}

	assert.Equal(t, had, w.deployment("a").Spec, "what it has it keeps")
	assert.NotEqual(t, had.DeploymentID, w.deployment("b").Spec.DeploymentID, "nobody waits for it")
	assert.Nil(t, w.deployment("c"), "and it gets no bundle that it did not have")
	assert.Contains(t, w.readyMessage(), "fleet cluster approve")

	w.suspect("a", false)
	w.suspect("c", false)
	for range 3 {
		w.mustLook()
		w.agentsReport()
	}
	assert.Equal(t, w.deployment("b").Spec.DeploymentID, w.deployment("a").Spec.DeploymentID)
	assert.NotNil(t, w.deployment("c"))
}
