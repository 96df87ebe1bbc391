package charts

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// optionsKey is where the agent finds what to report of its own pod.
const optionsKey = "options"

const fullAgentValues = `
proxy: http://proxy:3128
extraEnv: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: proxy, key: password}}}]
global: {cattle: {imagePullSecrets: [{name: pull}]}}
fleetAgent:
  nodeSelector: {zone: a, disk: ssd}
  tolerations: [{key: edge, operator: Exists, effect: NoExecute, tolerationSeconds: 3000000}]
  resources: {limits: {memory: 256Mi}}
`

// options reads the document as strictly as the API server does.
func options(t *testing.T, r rendered) fleet.AgentOptions {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(configText(t, r, optionsKey))))
	decoder.DisallowUnknownFields()
	var o fleet.AgentOptions
	require.NoError(t, decoder.Decode(&o))
	return o
}

func TestNothingIsReportedOfADefaultAgent(t *testing.T) {
	assert.Equal(t, fleet.AgentOptions{}, options(t, agent("").mustRender(t)))
}

func TestWhatTheUserSetIsReported(t *testing.T) {
	r := agent(fullAgentValues).mustRender(t)
	golden(t, "fleet-agent-options.json", configText(t, r, optionsKey))
	o, p := options(t, r), pod(t, r)

	assert.Equal(t, p.ImagePullSecrets, o.PullSecrets)
	assert.Equal(t, p.Containers[0].Resources, *o.Resources)
	assert.Nil(t, o.HostNetwork)
	assert.Equal(t, p.Tolerations, append([]corev1.Toleration{uninitializedToleration, linuxToleration}, o.Tolerations...))
	ends := p.Containers[0].Env[len(p.Containers[0].Env)-len(o.EnvVars):]
	assert.Equal(t, ends, o.EnvVars, "the agent's pod has the built-in variables, then these")
	assert.Equal(t, "PASSWORD", o.EnvVars[3].Name)
}

func TestHostNetworkIsReported(t *testing.T) {
	for _, spelt := range []string{"true", `"true"`} {
		o := options(t, agent("fleetAgent: {hostNetwork: "+spelt+"}\n").mustRender(t))
		require.NotNil(t, o.HostNetwork)
		assert.True(t, *o.HostNetwork)
	}
}

// A Cluster has an affinity for its agent, but no node selector.
func TestNodeSelectorIsReportedAsAffinity(t *testing.T) {
	selected := []corev1.NodeSelectorRequirement{
		{Key: "disk", Operator: "In", Values: []string{"ssd"}}, {Key: "zone", Operator: "In", Values: []string{"a"}},
	}
	term := func(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: append(requirements, selected...)}
	}
	const selector = "fleetAgent:\n  nodeSelector: {zone: a, disk: ssd}\n"

	t.Run("beside the built-in preference", func(t *testing.T) {
		r := agent(selector).mustRender(t)
		o := options(t, r)
		assert.Equal(t, []corev1.NodeSelectorTerm{term()}, o.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		assert.Equal(t, pod(t, r).Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			o.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	})
	t.Run("in every term of the user's own", func(t *testing.T) {
		r := agent(selector + `
  affinity:
    podAffinity: {}
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: arch, operator: Exists}]
        - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
`).mustRender(t)
		o := options(t, r)
		byName := term()
		byName.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n1"}}}
		assert.Equal(t, []corev1.NodeSelectorTerm{term(corev1.NodeSelectorRequirement{Key: "arch", Operator: "Exists"}), byName},
			o.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
		assert.NotNil(t, o.Affinity.PodAffinity)
		terms := pod(t, r).Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		assert.Len(t, terms[0].MatchExpressions, 1, "the pod itself has the selector as it was given")
	})
	t.Run("and an affinity alone as it is", func(t *testing.T) {
		r := agent("fleetAgent: {affinity: {podAffinity: {}}}\n").mustRender(t)
		assert.Equal(t, pod(t, r).Affinity, options(t, r).Affinity)
	})
}
