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
	r := &record{entries: []count.Entry{
		entry(1000, driver, "create", "bundles", 201),
		entry(900, driver, "create", "bundles", 201),
		entry(1500, "fleet-controller", "create", "contents", 201),
		entry(2000, "fleet-controller", "create", "bundledeployments", 409),
		entry(2100, "fleet-controller", "create", "bundledeployments", 201),
		entry(2900, "fleet-controller", "create", "bundledeployments", 201),
		entry(4900, "fleet-controller", "update", "bundles", 200),
	}}
	run := r.summarize(Options{Clusters: 2, Bundles: 1})
	require.InDelta(t, 2, run.Took, 1e-9)
	require.InDelta(t, 1, run.Rate, 1e-9)
	require.InDelta(t, 2, run.BusyAfter, 1e-9)
	require.InDelta(t, 2.5, run.WritesPerDeployment, 1e-9, "failed writes count, the driver's do not")
}

func TestReportHasBudgetAndSpread(t *testing.T) {
	run := func(rate float64) Run {
		return Run{Rate: rate, WritesPerDeployment: 2.75, Use: map[string]bench.Usage{bench.ProcessController: {Peak: 100}}}
	}
	text := Report{Cells: []Cell{NewCell(50, 20, []Run{run(200), run(300), run(250)}), NewCell(3, 2, []Run{run(1)})}}.Markdown()
	require.Contains(t, text, "| 50 | 20 | deployments a second | at least 250 | 250.00 (200.00–300.00) | met |")
	require.Contains(t, text, "| 50 | 20 | hub writes per deployment | at most 2.2 | 2.75 (2.75–2.75) | missed by 25 % |")
	require.Contains(t, text, "| 50 | 20 | controller's memory, MB | at most 120 | 100.00 (100.00–100.00) | met |")
	require.Contains(t, text, "| 3 | 2 | controller's memory, MB |  | 100.00 (100.00–100.00) |  |")
}

// The figures themselves are no test's business: they depend on the machine.
func TestDeploymentsAreCountedOnAHubOfTheLab(t *testing.T) {
	root, err := lab.FindRoot()
	require.NoError(t, err)
	run, err := Measure(t.Context(), Options{Hub: bench.HubOptions{Root: root, Out: os.Stderr}, Clusters: 3, Bundles: 2})
	require.NoError(t, err)
	require.Positive(t, run.Rate)
	require.GreaterOrEqual(t, run.WritesPerDeployment, 1.0)
	require.Contains(t, run.Writes, "bundledeployments")
	require.Positive(t, run.Use[bench.ProcessController].Peak)
}
