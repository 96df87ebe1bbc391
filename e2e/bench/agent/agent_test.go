package agent

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
)

func request(client, verb, resource, subresource, group string) count.Entry {
	return count.Entry{Key: count.Key{UserAgent: client, Verb: verb, Resource: resource, Subresource: subresource, Group: group}, Code: 200}
}

func TestRequestsAtRestAreThoseOfTheAgentForAMinute(t *testing.T) {
	rest := restOf(onHub, []count.Entry{
		request(processAgent, "update", "leases", "", "coordination.k8s.io"),
		request(processAgent, "patch", "clusters", "status", "fleet.cattle.io"),
		request(processAgent, "patch", "bundledeployments", "status", "fleet.cattle.io"),
		request(processAgent, "watch", "bundledeployments", "", "fleet.cattle.io"),
		request(processAgent, "get", "secrets", "", ""),
		request("fleet-controller", "update", "bundles", "status", "fleet.cattle.io"),
		request(bench.Driver, "get", "bundles", "", "fleet.cattle.io"),
	}, 2*time.Minute)
	require.Equal(t, []float64{0.5, 0.5, 0.5, 1}, []float64{rest.Writes, rest.Leases, rest.Said, rest.Reads})
}

func TestReportHasEachSizeBesideItsBudget(t *testing.T) {
	of := func(rss float64) Run {
		return Run{
			Registered: 1.5, Applied: Times{Count: 3, P50: 0.25, P99: 0.5}, Ready: Times{Count: 3, P50: 0.9, P99: 1},
			Memory: []Memory{{Releases: 0, Usage: bench.Usage{RSS: rss, Peak: 70}}, {Releases: 20, Usage: bench.Usage{RSS: 66, Peak: 70}}},
			Rest:   []Rest{{Side: onHub, Leases: 1}, {Side: onCluster, Writes: 2}},
		}
	}
	text := Report{Runs: []Run{of(50), of(40), of(55)}}.Markdown()
	require.Contains(t, text, "| figure | 3 runs | budget | verdict |")
	require.Contains(t, text, "| Cluster → registered, s | 1.50 (1.50–1.50) | at most 2.00 | met |")
	require.Contains(t, text, "| bundle → Ready, p50, s | 0.900 (0.900–0.900) | at most 0.700 | missed by 29 % |")
	require.Contains(t, text, "| RSS with 0 releases, MB | 50.0 (40.0–55.0) | at most 60.0 | met |")
	require.Contains(t, text, "| RSS with 20 releases, MB | 66.0 (66.0–66.0) | at most 60.0 | missed by 10 % |")
	require.Contains(t, text, "| writes a minute at rest, hub | 0 (0–0) | at most 0 | met |")
	require.Contains(t, text, "| writes a minute at rest, cluster | 2.00 (2.00–2.00) | at most 0 | missed |")
	require.Contains(t, text, "Times are of 3 bundles")
}

// The figures themselves are no test's business: they depend on the machine.
func TestAnAgentIsMeasuredInTheLab(t *testing.T) {
	root, err := lab.FindRoot()
	require.NoError(t, err)
	run, err := Measure(t.Context(), Options{Hub: bench.HubOptions{Root: root, Out: os.Stderr}, Sizes: []int{0, 2}, Timed: 1, Rest: 2 * time.Second})
	require.NoError(t, err)
	require.Positive(t, run.Registered)
	require.Equal(t, 1, run.Applied.Count)
	require.GreaterOrEqual(t, run.Ready.P50, run.Applied.P50)
	require.Len(t, run.Memory, 2)
	require.Positive(t, run.Memory[1].RSS)
	require.Len(t, run.Rest, 2)
}
