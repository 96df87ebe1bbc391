package join

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// entry is a request that arrived so many milliseconds after the start and took one.
func entry(ms int, client, verb, resource, namespace, name string, code int) count.Entry {
	resource, subresource, _ := strings.Cut(resource, "/")
	e := count.Entry{
		Key:    count.Key{UserAgent: client, Verb: verb, Resource: resource, Subresource: subresource},
		Object: count.Object{Namespace: namespace, Name: name}, Code: code,
		Received: start.Add(time.Duration(ms) * time.Millisecond),
	}
	e.Answered = e.Received.Add(time.Millisecond)
	return e
}

func TestWritesOfAgentsAndDriverAreNotTheHubs(t *testing.T) {
	lease := entry(0, "fleet-controller", "create", "leases", "c1", "fleet-agent", 201)
	lease.Group = "coordination.k8s.io"
	manager := entry(0, "kube-1.37", "create", "configmaps", "c1", "kube-root-ca.crt", 201)
	manager.User = "system:kube-controller-manager"
	review := entry(0, "fleet-controller", "create", "subjectaccessreviews", "", "", 201)
	review.Group = "authorization.k8s.io"
	traffic := trafficOf([]count.Entry{
		entry(0, userAgent, "create", "clusterregistrations", "w", "r1", 201),
		entry(0, "stage", "create", "secrets", "w", "s", 201),
		entry(0, "fleet-controller", "update", "clusters/status", "w", "c", 200),
		entry(0, "fleet-controller", "update", "clusters/status", "w", "c", 409),
		entry(0, "fleet-controller", "create", "events", "w", "e", 201),
		entry(0, "fleet-controller", "get", "secrets", "w", "s", 200),
		entry(0, userAgent, "get", "secrets", "w", "s", 403),
		entry(0, "fleet-controller", "create", "bundledeployments", "c1", "b", 201),
		lease, manager, review,
	}, 2)
	require.InDelta(t, 2, traffic.WritesPerJoin, 1e-9, "two status updates, the config map and the deployment")
	require.InDelta(t, 1.5, traffic.BundleWritesPerJoin, 1e-9)
	require.InDelta(t, 0.5, traffic.LeasesPerJoin, 1e-9)
	require.InDelta(t, 0.5, traffic.EventsPerJoin, 1e-9)
	require.InDelta(t, 0.5, traffic.AgentWritesPerJoin, 1e-9)
	require.InDelta(t, 0.5, traffic.ReadsPerJoin, 1e-9)
	require.InDelta(t, 0.5, traffic.AgentReadsPerJoin, 1e-9)
	require.Equal(t, bench.Line{UserAgent: "fleet-controller", Verb: "update", Resource: "clusters/status", Count: 2, Failed: 1, Per: 1}, traffic.Writes[0])
	require.Contains(t, traffic.Writes, bench.Line{UserAgent: "kube-controller-manager", Verb: "create", Resource: "configmaps", Count: 1, Per: 0.5})
	for _, line := range append(traffic.Writes, traffic.Reads...) {
		require.NotEqual(t, "stage", line.UserAgent)
		require.NotEqual(t, "subjectaccessreviews", line.Resource)
	}
}

// twoJoins are a fast join and a slow one, with their requests in a mix.
func twoJoins() ([]Outcome, []count.Entry) {
	outcome := func(i string, ms int) Outcome {
		return Outcome{
			Request: "request-" + strings.Repeat(i, 54), Secret: "c-" + i, Cluster: "cluster-" + i, Namespace: "ns-" + i,
			Started: start, Joined: start.Add(time.Duration(ms) * time.Millisecond), Tries: 1, Looks: 2,
		}
	}
	outcomes := []Outcome{outcome("a", 100), outcome("b", 300)}
	var entries []count.Entry
	for i, o := range outcomes {
		at := 100 * i
		entries = append(entries,
			entry(0, userAgent, "create", "clusterregistrations", "w", o.Request, 201),
			entry(at+10, "fleet-controller", "create", "clusters", "w", o.Cluster, 201),
			entry(at+30, "fleet-controller", "create", "rolebindings", o.Namespace, o.Request, 201),
			entry(at+20, "fleet-controller", "create", "serviceaccounts", "cattle-fleet-agents-system", o.Request[:50]+"-12345", 201),
			entry(at+40, userAgent, "get", "secrets", "cattle-fleet-clusters-system", o.Secret, 403),
			entry(at+50, "fleet-controller", "create", "rolebindings", "w", o.Request, 201),
			entry(at+54, "fleet-controller", "create", "secrets", "cattle-fleet-clusters-system", o.Secret, 201),
			entry(at+60, userAgent, "get", "secrets", "cattle-fleet-clusters-system", o.Secret, 200),
		)
	}
	for _, at := range []int{50, 58, 158} {
		entries = append(entries, entry(at, "fleet-controller", "patch", "roles", "cattle-fleet-clusters-system", "for-all", 200))
	}
	return outcomes, append(entries, entry(70, "stage", "get", "secrets", "w", "other", 200))
}

func TestStepsAreThoseOfTheJoinThatARequestBelongsTo(t *testing.T) {
	outcomes, entries := twoJoins()
	joins := byJoin(outcomes, entries)
	require.Len(t, joins[0], 8)
	require.Len(t, joins[1], 8)

	reached := map[string]Step{}
	for _, step := range steps(joins, entries) {
		reached[step.Name] = step
	}
	require.Equal(t, Step{Name: "the Cluster is created", P50: 0.011, P99: 0.111, Joins: 2}, reached["the Cluster is created"])
	require.InDelta(t, 0.021, reached["the request account is created"].P50, 1e-9)
	require.InDelta(t, 0.051, reached["the agent's rights are there"].P50, 1e-9, "the last of the bindings counts")
	require.Equal(t, Step{Name: "the import account may read it", P50: 0.059, P99: 0.159, Joins: 2}, reached["the import account may read it"],
		"by the first change of the common Role after the Secret")
	require.InDelta(t, 0.061, reached["the agent has it"].P50, 1e-9, "the refused looks do not count")
	require.Zero(t, reached["the token is minted"].Joins)

	lines := trace(outcomes, joins)
	require.Len(t, lines, 8)
	require.Equal(t, "create clusters w/cluster-a", lines[1].What, "of two, the faster one is the median; in the order of arrival")
	require.InDelta(t, 0.010, lines[1].At, 1e-9)
}

func TestRunIsSummedUp(t *testing.T) {
	outcomes, entries := twoJoins()
	run := summarize(outcomes, entries)
	require.Equal(t, 2, run.Joins)
	require.InDelta(t, 2/0.3, run.Rate, 1e-9)
	require.InDelta(t, 0.1, run.P50, 1e-9)
	require.InDelta(t, 0.3, run.P99, 1e-9)
	require.InDelta(t, 2, run.Looks, 1e-9)
	require.InDelta(t, 6.5, run.WritesPerJoin, 1e-9)
}

func TestReportHasBudgetAndSpread(t *testing.T) {
	runs := []Run{{Joins: 50, P50: 1, P99: 3}, {Joins: 50, P50: 2, P99: 2, Rate: 26}, {Joins: 50, P50: 3, P99: 1, Rate: 30}}
	cell := NewCell(50, 0, 0, 0, runs)
	require.Equal(t, runs[1], cell.Median)
	text := Report{Cells: []Cell{cell, NewCell(50, 0, 5, 0, runs), NewCell(50, 0, 0, 100, runs), NewCell(50, 5*time.Millisecond, 0, 0, runs)}}.Markdown()
	require.Contains(t, text, "| 50 | 0 | joins a second | at least 25.0 | 26.0 (0–30.0) | met |")
	require.Contains(t, text, "| 50 | 0 | p99, s | at most 2.50 | 2.00 (1.00–3.00) | met |")
	require.NotContains(t, text, "not idle")
	runs[0].CoresOfOthers = 1.2
	require.Contains(t, Report{Cells: []Cell{NewCell(50, 0, 0, 0, runs)}}.Markdown(), "not idle: up to 1.20 of")
	require.Equal(t, 2, strings.Count(text, "| at least 25.0 ")+strings.Count(text, "| p99, s |"), "a paced start and a round trip have no budget")
}
