package target

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func idOf(t *testing.T, o options) string {
	t.Helper()
	id, err := DeploymentID("s-1", o)
	require.NoError(t, err)
	return id
}

// The digest is part of the wire: if it changed, every bundle would be deployed again.
func TestTheIDIsTheDigestOfTheOptionsAsTheyAreEncoded(t *testing.T) {
	for encoded, o := range map[string]options{
		"{}\n":            {},
		"{\"helm\":{}}\n": helm(fleet.HelmOptions{}),
		"{\"defaultNamespace\":\"a\",\"helm\":{\"chart\":\"web\",\"values\":{\"a\":\"\\u003c\\u0026\\u003e\",\"b\":9007199254740993}},\"keepResources\":true}\n": {
			DefaultNamespace: "a", KeepResources: true,
			Helm: &fleet.HelmOptions{Chart: "web", Values: &fleet.GenericMap{Data: map[string]any{"b": int64(9007199254740993), "a": "<&>"}}},
		},
	} {
		sum := sha256.Sum256([]byte(encoded))
		assert.Equal(t, "s-1:"+hex.EncodeToString(sum[:]), idOf(t, o), encoded)
	}
	golden(t, "options.id", []byte(idOf(t, full(t))+"\n"))
}

func TestHowADeploymentIsComparedIsNoPartOfItsID(t *testing.T) {
	o := full(t)
	id := idOf(t, o)
	require.NotNil(t, o.Diff)
	require.NotNil(t, o.CorrectDrift)
	changed := *o.DeepCopy()
	changed.Diff, changed.CorrectDrift = nil, nil
	assert.Equal(t, id, idOf(t, changed))
	changed.KeepResources = false
	assert.NotEqual(t, id, idOf(t, changed))
	assert.NotNil(t, o.Diff, "the options are as they were")

	other, err := DeploymentID("s-2", o)
	require.NoError(t, err)
	assert.NotEqual(t, id, other)
	none, err := DeploymentID("", o)
	require.NoError(t, err)
	assert.Equal(t, ":"+id[len("s-1:"):], none)
}
