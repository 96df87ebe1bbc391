package agentmanifest

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// checkProblem holds for what is wrong with options: it stands in a condition, and names the field of each problem.
func checkProblem(t *testing.T, err error) {
	t.Helper()
	require.Less(t, len(err.Error()), 16<<10)
	require.Less(t, strings.IndexFunc(err.Error(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }), 0, "%q", err)
	require.Contains(t, err.Error(), "spec.")
}

// FuzzAgentOptions: an agent that the chart installed says how that was done, and a new Cluster takes it over. Whatever it
// says, it is refused with a reason, or makes a manifest, always the same one.
func FuzzAgentOptions(f *testing.F) {
	for _, seed := range []string{
		"{}", "null", "[]", "", "\xff", `{"hostNetwork":true,"envVars":[{"name":"HTTP_PROXY","value":"http://u:VERY-SECRET-PASSWORD@p"}]}`,
		`{"envVars":[{"name":"","value":"VERY-SECRET-PASSWORD"},{"name":"GENERATION","value":"VERY-SECRET-PASSWORD"}]}`,
		`{"envVars":[{"name":"A","valueFrom":{}}]}`, `{"envVars":[{"name":"A","value":"b","valueFrom":{"fieldRef":{"fieldPath":"x"}}}]}`,
		`{"tolerations":[{"key":"a/b/c","operator":"\u001b[2J","tolerationSeconds":-1}]}`, `{"tolerations":[{"operator":"Exists"},{"operator":"Exists"},{}]}`,
		`{"resources":{"limits":{"cpu":"1e999"}}}`, `{"resources":{"limits":{"cpu":"-1"},"requests":{"memory":"0.1m","a b":"1"},"claims":[{"name":"x"}]}}`,
		`{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":null}},"podAffinity":{}}}`,
		`{"pullSecrets":[{"name":"../x"},{"name":""},{"name":"a"},{"name":"a"}]}`, `{"envVars":[` + strings.Repeat(`{"name":"A"},`, 200) + `{"name":"B"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var o fleet.AgentOptions
		if json.Unmarshal(document, &o) != nil || len(document) > 16<<10 {
			return
		}
		c := cluster(fleet.ClusterSpec{
			AgentEnvVars: o.EnvVars, AgentTolerations: o.Tolerations, AgentAffinity: o.Affinity, AgentResources: o.Resources,
			HostNetwork: o.HostNetwork, AgentPullSecrets: &o.PullSecrets,
		})
		before := c.DeepCopy()
		options, _, err := Effective(c, settings())
		require.Equal(t, before, c, "a look changes nothing")
		if err != nil {
			require.ErrorContains(t, err, "fleet-default/edge")
			checkProblem(t, err)
			if !strings.Contains(string(document), `"name":"VERY`) {
				require.NotContains(t, err.Error(), "VERY-SECRET-PASSWORD")
			}
			return
		}
		manifest, err := BundleYAML(options)
		require.NoError(t, err, "what is valid can be written")
		again, _, err := Effective(c, settings())
		require.NoError(t, err)
		same, err := BundleYAML(again)
		require.NoError(t, err)
		require.Equal(t, manifest, same)
		require.Contains(t, manifest, Generation(options))
		require.Equal(t, Normalize(options), Normalize(Normalize(options)))
	})
}
