package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyAPolicyThatWasSeenAtWorkProvesAnything(t *testing.T) {
	assert.False(t, Provenance{}.Known())
	assert.False(t, Provenance{}.Enforced())
	for _, reason := range []string{ProvenanceNotServed, ProvenanceNotInstalled, ProvenanceNotInForce, ProvenanceNotProved} {
		assert.True(t, Provenance{Reason: reason}.Known(), reason)
		assert.False(t, Provenance{Reason: reason}.Enforced(), reason)
	}
	assert.True(t, Provenance{Reason: ProvenanceInForce}.Known())
	assert.True(t, Provenance{Reason: ProvenanceInForce}.Enforced())
}
