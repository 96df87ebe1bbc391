package registration_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
)

// kinds is how many kinds the group has.
const kinds = 14

// place is one control plane of the world, and what the contract leads one to expect there.
type place struct {
	plane *stage.Cluster
	rows  []row
	known map[string][]string
	// expect is how many objects a row stands for.
	expect func(row) (n int, known bool)
}

// Everything that Fleet makes is in docs/contract.md, and everything that stands there exists.
func TestEveryObjectIsAccountedForAfterTheJoins(t *testing.T) {
	w, c := ofTheWorld(t), readContract(t)
	for name, p := range map[string]place{"hub": w.hubPlace(c), edge1: w.edgePlace(c, edge1), edge2: w.edgePlace(c, edge2)} {
		t.Run(name, func(t *testing.T) {
			m := matcher{t: t, contract: c, known: p.known}
			var problems []string
			// A join ends with the agent's connection; what is cleared away after it takes a moment more.
			err := stage.AwaitEvery(until(t, patience/3), betweenSnapshots, "the objects of the contract", func(ctx context.Context) (bool, string, error) {
				now, err := p.plane.Snapshot(ctx)
				if err != nil {
					return false, "", err
				}
				problems = m.compare(p, w.before[p.plane.Name], now)
				return len(problems) == 0, "", nil
			})
			assert.Empty(t, problems)
			require.NoError(t, err)
		})
	}
}

// compare says what there is and should not be, and the other way round.
func (m matcher) compare(p place, before, now stage.Snapshot) (problems []string) {
	m.t.Helper()
	for _, key := range before.Without(now) {
		problems = append(problems, "gone, and it was there before Fleet: "+key.String())
	}
	counts := map[string]int{}
	for _, key := range now.Without(before) {
		if r, ok := m.best(p.rows, key); ok {
			counts[r.pattern()]++
		} else if _, ok := m.best(m.contract.kubernetes, key); !ok {
			problems = append(problems, "not in the contract: "+key.String())
		}
	}
	want := map[string]int{}
	for _, r := range p.rows {
		n, known := p.expect(r)
		if !known {
			problems = append(problems, fmt.Sprintf("this test does not know how many objects there are of %s %s", r, r.remark))
		}
		want[r.pattern()] += n
	}
	for pattern, n := range want {
		if counts[pattern] != n {
			problems = append(problems, fmt.Sprintf("%d objects where %d are expected: %s", counts[pattern], n, pattern))
		}
	}
	slices.Sort(problems)
	return problems
}

// pattern is what rows have in common that stand for the same objects.
func (r row) pattern() string { return strings.Join([]string{r.namespace, r.kind, r.name}, " | ") }

// installation narrows the placeholders to the names of the world.
func installation(agentNamespace string) map[string][]string {
	known := map[string][]string{
		"<system>":            {stage.SystemNamespace},
		"<registration>":      {stage.RegistrationNamespace},
		"<agents>":            {stage.AgentsNamespace},
		"<local-workspace>":   {stage.LocalWorkspace},
		"<workspace>":         {stage.Workspace},
		"<agent-namespace>":   {agentNamespace},
		"<cluster>":           {edge1, edge2},
		"<token>":             {edge2},
		"<kubeconfig-secret>": {edge1 + "-kubeconfig"},
		// Nobody has any.
		"<pull-secret>": nil, "<downstream-resource>": nil, "<bundle>": nil,
	}
	for _, values := range known {
		for i, value := range values {
			values[i] = regexp.QuoteMeta(value)
		}
	}
	return known
}

func (w *world) hubPlace(c contract) place {
	return place{
		plane: w.Hub, rows: slices.Concat(c.hub, c.downstream), known: installation(stage.LocalAgentNamespace),
		expect: func(r row) (int, bool) {
			if slices.Contains(c.downstream, r) {
				return expectOfAgent(r, "manager-agent")
			}
			return expectOnHub(r)
		},
	}
}

func (w *world) edgePlace(c contract, name string) place {
	plane, _, agentNamespace := w.cluster(name)
	agent := map[string]string{edge1: "manager-agent", edge2: "agent-agent"}[name]
	return place{
		plane: plane, rows: c.downstream, known: installation(agentNamespace),
		expect: func(r row) (int, bool) { return expectOfAgent(r, agent) },
	}
}

// expectOfAgent is for a cluster whose agent was put there in one of two ways.
func expectOfAgent(r row, agent string) (n int, known bool) {
	switch r.when {
	case "install", "registered", agent:
		return 1, true
	case "manager-agent", "agent-agent", "handshake", "optional":
		return 0, true // gone after the join, of the other way, or not asked for
	}
	return 0, false
}

// options are those of the hub's chart that are on.
var options = map[string]int{
	"chart fleet with bootstrap.enabled": 1,
	"chart fleet with metrics.enabled":   1,
	"a token without spec.ttl":           0,
	"bootstrap.repo":                     0,
	"a bundle of a person":               0,
	"a bundle with Helm values":          0,
	"downstreamResources":                0,
}

// expectOnHub counts by how many clusters, tokens and persons there are in the place that a row speaks of.
func expectOnHub(r row) (n int, known bool) {
	if r.kind == "Content" {
		return 2, true // the agents of edge-1 and edge-2 are the same
	}
	inWorkspaces := map[string]map[string]int{
		"<local-workspace>": {"manager": 1, "registered": 1},
		"<workspace>":       {"manager": 1, "registered": 2, "cluster": 2, "token": 1, "person": 1},
		"":                  {"manager": 2, "registered": 3, "cluster": 3, "token": 1, "person": 1},
	}
	counts, special := inWorkspaces[r.namespace]
	if !special {
		counts = inWorkspaces[""]
	}
	switch r.when {
	case "install":
		if r.kind == "CustomResourceDefinition" {
			return kinds, true
		}
		return 1, true
	case "local":
		return 1, true
	case "handshake", "renewal":
		return 0, true
	case "optional":
		n, known = options[r.remark]
		return n, known
	}
	n, known = counts[r.when]
	return n, known
}
