package join

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/lab"
)

// The figures themselves are no test's business: they depend on the machine.
func TestJoinsAreCountedOnAHubOfTheLab(t *testing.T) {
	root, err := lab.FindRoot()
	require.NoError(t, err)
	run, err := Measure(t.Context(), Options{Hub: bench.HubOptions{Root: root, Out: os.Stderr}, N: 2, FloodRate: 50})
	require.NoError(t, err)

	require.Equal(t, 2, run.Joins)
	require.Positive(t, run.Rate)
	require.LessOrEqual(t, run.P50, run.P99)
	require.Positive(t, run.WritesPerJoin)
	require.Positive(t, run.WatchEventsPerJoin)
	require.Positive(t, run.Flood.Taken+run.Flood.Refused)
	for _, wanted := range []bench.Line{
		{UserAgent: userAgent, Verb: "create", Resource: "clusterregistrations"},
		{UserAgent: "fleet-controller", Verb: "create", Resource: "clusters"},
		{UserAgent: "fleet-controller", Verb: "create", Resource: "serviceaccounts/token"},
		{UserAgent: "fleet-controller", Verb: "create", Resource: "bundles"},
		{UserAgent: "kube-controller-manager", Verb: "create", Resource: "serviceaccounts"},
	} {
		require.GreaterOrEqual(t, countOf(run.Writes, wanted), 2, "%s %s by %s", wanted.Verb, wanted.Resource, wanted.UserAgent)
	}
	require.Equal(t, 2, countOf(run.Reads, bench.Line{UserAgent: userAgent, Verb: "list", Resource: "bundledeployments"}))
	reached := map[string]int{}
	for _, step := range run.Steps {
		reached[step.Name] = step.Joins
	}
	for _, step := range []string{
		"the request is stored", "the Cluster is created", "the token is minted", "the agent has it", "the authenticated list",
		"the first heartbeat", "the agent bundle is created",
	} {
		require.Equal(t, 2, reached[step], "%s", step)
	}
	for _, process := range processes {
		require.Positive(t, run.Use[process].Peak, "%s", process)
	}
	requireReport(t, run)
}

// requireReport writes the run as scripts/bench does and reads it again.
func requireReport(t *testing.T, run Run) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "join.json")
	report := Report{Head: bench.Head{Command: "scripts/bench join -n 2"}, Cells: []Cell{NewCell(2, 0, 0, 0, []Run{run})}}
	require.NoError(t, bench.WriteJSON(path, report))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var read Report
	require.NoError(t, json.Unmarshal(content, &read))
	require.Equal(t, report, read)
	require.Contains(t, report.Markdown(), "the authenticated list")
}

func countOf(lines []bench.Line, wanted bench.Line) int {
	for _, line := range lines {
		if line.UserAgent == wanted.UserAgent && line.Verb == wanted.Verb && line.Resource == wanted.Resource {
			return line.Count
		}
	}
	return 0
}
