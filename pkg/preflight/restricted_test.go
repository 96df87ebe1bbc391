package preflight

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const restrictedValues = `
apiServerURL: https://hub.example.com
token: x
agent:
  rules:
    - {apiGroups: [""], resources: [configmaps, pods/log], verbs: [get, list]}
    - {apiGroups: [apps], resources: [deployments], resourceNames: [a, b], verbs: [get]}
    - {nonResourceURLs: [/metrics], verbs: [get]}
`

func TestAnAgentWithRulesIsKnownAsRestricted(t *testing.T) {
	v, err := parseAgentValues([]byte(restrictedValues))
	require.NoError(t, err)
	assert.True(t, v.restricted())
	var kinds []string
	for _, n := range v.given("ns") {
		kinds = append(kinds, n.verb+" "+n.kind()+" "+n.name)
	}
	for _, want := range []string{
		"get configmaps ", "list pods/log ", "get deployments.apps a", "get deployments.apps b", "get URL /metrics ",
		"impersonate serviceaccounts in namespace ns ", "get namespaces ",
	} {
		assert.Contains(t, kinds, want)
	}
	assert.NotContains(t, strings.Join(kinds, "\n"), "everything")

	v, err = parseAgentValues([]byte("token: x\n"))
	require.NoError(t, err)
	assert.False(t, v.restricted())
}

func TestRulesThatAreEndlessAreAskedForWithinBounds(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint(i))
	}
	var v agentValues
	v.Agent.Rules = []agentRule{{APIGroups: many, Resources: many, Verbs: many}, {NonResourceURLs: many, Verbs: many}}
	assert.Len(t, v.given("ns"), maxGiven)
}

func TestWhatARestrictedAgentLacksIsNoFault(t *testing.T) {
	lacks := []need{{verb: "create", group: rbac, resource: "roles", namespace: "ns"}}
	for title, test := range map[string]struct {
		allowed allowed
		want    Result
	}{
		"everything":          {allowed{all: true}, OK},
		"its rights are had":  {allowed{}, OK},
		"escalates and binds": {allowed{gives: true}, OK},
		"lacks":               {allowed{gives: true, refused: lacks}, Failed},
		"unknown":             {allowed{err: errors.New("no")}, Warning},
	} {
		f := decideRestrictedInstaller(test.allowed, "x")
		assert.Equal(t, test.want, f.result, title)
		if test.allowed.err == nil {
			assert.Contains(t, f.found+f.remedy, "restricted to agent.rules", title)
		}
	}
}
