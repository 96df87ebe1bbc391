package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/names"
)

// The label that an agent adds by itself takes no place from those that it was given.
func TestAsManyLabelsAsMayBeCanBeSent(t *testing.T) {
	labels := manyLabels(maxLabels)
	assert.Equal(t, labels, SendableLabels(labels))
	labels[names.CreatedByAgentPodLabel] = "fleet-agent-0"
	assert.NoError(t, validateLabels(labels))
	assert.Equal(t, labels, SendableLabels(labels))

	labels["one-more"] = "v"
	assert.ErrorContains(t, validateLabels(labels), "spec.clusterLabels has at least 65 entries, may have 64")
	assert.Empty(t, SendableLabels(labels))
	assert.Empty(t, SendableLabels(nil))
}
