package fanout

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
)

func entry(ms int, client, verb, resource string, code int) count.Entry {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := count.Entry{Key: count.Key{UserAgent: client, Verb: verb, Resource: resource}, Code: code, Received: start.Add(time.Duration(ms) * time.Millisecond)}
	e.Answered = e.Received
	return e
}

func TestTheRateIsFromTheFirstBundleToTheLastDeployment(t *testing.T) {
	run := summarize(Options{Clusters: 2, Bundles: 1}, []count.Entry{
		entry(1000, bench.Driver, "create", "bundles", 201),
		entry(900, bench.Driver, "create", "bundles", 201),
		entry(1500, "fleet-controller", "create", "contents", 201),
		entry(2000, "fleet-controller", "create", "bundledeployments", 409),
		entry(2100, "fleet-controller", "create", "bundledeployments", 201),
		entry(2900, "fleet-controller", "create", "bundledeployments", 201),
		entry(4900, "fleet-controller", "update", "bundles", 200),
	})
	require.InDelta(t, 2, run.Took, 1e-9)
	require.InDelta(t, 1, run.Rate, 1e-9)
	require.InDelta(t, 2, run.BusyAfter, 1e-9)
	require.InDelta(t, 2.5, run.WritesPerDeployment, 1e-9, "failed writes count, the driver's do not")
	require.Equal(t, bench.Line{UserAgent: "fleet-controller", Verb: "create", Resource: "bundledeployments", Count: 3, Failed: 1, Per: 1.5}, run.Writes[0])
	require.Zero(t, run.QuietWrites)
}

func TestWritesOfAHubThatShouldBeQuietAreFound(t *testing.T) {
	run := summarize(Options{Clusters: 1, Bundles: 1}, []count.Entry{
		entry(0, bench.Driver, "create", "bundles", 201),
		entry(1000, "fleet-controller", "create", "bundledeployments", 201),
		entry(10900, "fleet-controller", "update", "bundles", 200),
		entry(11100, "fleet-controller", "update", "bundles", 200),
		entry(15000, "fleet-controller", "update", "clusters", 409),
		entry(15000, "fleet-controller", "get", "clusters", 200),
	})
	require.InDelta(t, 0.2, run.QuietWrites, 1e-9)
}

// of is a run with what the report is about.
func of(clusters, bundles int, rate, memory float64) Run {
	return Run{
		Clusters: clusters, Bundles: bundles, Rate: rate, Took: float64(clusters*bundles) / rate, WritesPerDeployment: 2.75,
		Writes: []bench.Line{{UserAgent: "fleet-controller", Verb: "create", Resource: "bundledeployments", Per: rate}},
		Use: map[string]bench.Usage{
			bench.ProcessController: {Peak: memory, RSS: memory - 1, CPU: memory / 100}, bench.ProcessBench: {CPU: 1000 / memory},
		},
	}
}

func TestReportHasTheSizesSideBySide(t *testing.T) {
	text := Report{Cells: []Cell{
		NewCell(50, 20, []Run{of(50, 20, 200, 100), of(50, 20, 300, 100), of(50, 20, 270, 100)}), NewCell(1000, 20, []Run{of(1000, 20, 250, 900)}),
	}}.Markdown()
	require.Contains(t, text, "| figure | 50 × 20, 3 runs | budget | verdict | 1000 × 20, 1 runs | budget | verdict |")
	require.Contains(t, text, "| deployments a second | 270 (200–300) | at least 250 | met | 250 |  |  |")
	require.Contains(t, text, "| hub writes per deployment | 2.75 (2.75–2.75) | at most 2.20 | missed by 25 % | 2.75 | at most 2.20 | missed by 25 % |")
	require.Contains(t, text, "| controller's memory, peak, MB | 100 (100–100) | at most 120 | met | 900 |  |  |")
	require.Contains(t, text, "| writes a second, from 10 s on | 0 (0–0) | at most 0 | met |")
	require.Contains(t, text, "| fleet-controller | create | bundledeployments | 270.00 | 0 |", "the writes are those of the median run")
}

func TestGrowthIsComparedWithTheDeployments(t *testing.T) {
	text := Report{Cells: []Cell{
		NewCell(1000, 20, []Run{of(1000, 20, 100, 400)}), NewCell(200, 20, []Run{of(200, 20, 250, 100)}),
	}}.Markdown()
	require.Contains(t, text, "- From 200 × 20 to 1000 × 20, 5.00 times the deployments: time 12.5 times (worse than linear); "+
		"time up to the last write 12.5 times (worse than linear); controller's memory 4.00 times (linear or better); "+
		"writes per deployment 1.00 times (linear or better); processor time per deployment 0.800 times (linear or better).")
	require.NotContains(t, Report{Cells: []Cell{NewCell(50, 20, []Run{of(50, 20, 1, 1)})}}.Markdown(), "Growth")
}

// The figures themselves are no test's business: they depend on the machine.
func TestDeploymentsAreCountedOnAHubOfTheLab(t *testing.T) {
	root, err := lab.FindRoot()
	require.NoError(t, err)
	run, err := Measure(t.Context(), Options{Hub: bench.HubOptions{Root: root, Out: os.Stderr}, Clusters: 3, Bundles: 2})
	require.NoError(t, err)
	require.Positive(t, run.Rate)
	require.GreaterOrEqual(t, run.WritesPerDeployment, 1.0)
	require.Equal(t, 6, created(run.Writes))
	require.Zero(t, run.QuietWrites)
	require.Positive(t, run.Use[bench.ProcessController].Peak)
}

func created(lines []bench.Line) int {
	for _, line := range lines {
		if line.Verb == "create" && line.Resource == "bundledeployments" {
			return line.Count
		}
	}
	return 0
}
