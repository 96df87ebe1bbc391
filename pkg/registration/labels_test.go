package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/names"
)

func TestReservedLabels(t *testing.T) {
	for key, want := range map[string]bool{
		"management.cattle.io/cluster-display-name": true,
		"management.cattle.io/foo":                  true,
		"fleet.cattle.io/cluster":                   true,
		"fleet.cattle.io/shard-ref":                 true,
		"fleet.cattle.io/non-managed-agent":         true,
		"fleet.cattle.io/":                          true,
		"objectset.rio.cattle.io/hash":              true,
		"fleet.cattle.io/created-by-agent-pod":      false,
		"env":                                       false,
		"example.com/team":                          false,
		"fleet.cattle.io.example.com/cluster":       false,
		"fleet.cattle.io":                           false,
		"":                                          false,
	} {
		assert.Equal(t, want, IsReservedLabel(key), "%q", key)
	}
}

func TestSanitizeLabels(t *testing.T) {
	for _, test := range []struct {
		what       string
		have, want map[string]string
	}{
		{"drops the display name", map[string]string{names.DisplayNameLabel: "a", "env": "prod"}, map[string]string{"env": "prod"}},
		{"drops every reserved key", map[string]string{names.ClusterLabel: "a", names.ManagedLabel: "true", names.ClusterManagementLabel: "b"}, map[string]string{}},
		{"keeps the agent's pod", map[string]string{names.CreatedByAgentPodLabel: "pod"}, map[string]string{names.CreatedByAgentPodLabel: "pod"}},
		{"makes a map of none", nil, map[string]string{}},
		{"makes a map of an empty one", map[string]string{}, map[string]string{}},
	} {
		got := SanitizeLabels(test.have)
		assert.NotNil(t, got, test.what)
		assert.Equal(t, test.want, got, test.what)
	}
}

func TestSanitizeLabelsLeavesItsInputAlone(t *testing.T) {
	have := map[string]string{names.ManagedLabel: "true", "env": "prod"}
	SanitizeLabels(have)["more"] = "x"
	assert.Equal(t, map[string]string{names.ManagedLabel: "true", "env": "prod"}, have)
}
