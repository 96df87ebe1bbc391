package registration

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The API server counts characters and the hub bytes, of which there are as many or more: what the hub would grant is
// never refused by the schema.
func TestTheSchemaTakesWhateverTheHubWouldGrant(t *testing.T) {
	raw, err := os.ReadFile("../../charts/fleet-crd/templates/clusterregistrations.yaml")
	require.NoError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &crd))
	require.Len(t, crd.Spec.Versions, 1)
	field := func(path string) map[string]any {
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, name := range strings.Split(path, ".") {
			properties, _ := schema["properties"].(map[string]any)
			schema, _ = properties[name].(map[string]any)
			require.NotNil(t, schema, path)
		}
		return schema
	}
	for path, test := range map[string]struct {
		bound string
		hub   int
	}{
		"spec.clientID":                  {"maxLength", maxClientID},
		"spec.clientRandom":              {"maxLength", maxClientRandom},
		"spec.clusterLabels":             {"maxProperties", maxLabels + 1}, // and the one that an agent adds
		"spec.identity.publicKey":        {"maxLength", base64.StdEncoding.EncodedLen(32)},
		"spec.identity.clusterUID":       {"maxLength", maxClientID},
		"spec.identity.requester":        {"maxLength", maxRequester},
		"spec.agent.version":             {"maxLength", maxAgentVersion},
		"spec.agent.options.envVars":     {"maxItems", maxAgentOptions / len(`{"name":""},`)},
		"spec.agent.options.tolerations": {"maxItems", maxAgentOptions / len(`{},`)},
		"spec.agent.options.pullSecrets": {"maxItems", maxAgentOptions / len(`{},`)},
		"status.credentials":             {"maxItems", maxRecords},
	} {
		bound, ok := field(path)[test.bound].(float64)
		require.True(t, ok, "%s has no %s", path, test.bound)
		assert.GreaterOrEqual(t, int(bound), test.hub, path)
	}
}
