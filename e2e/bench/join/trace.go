package join

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// Step is when a point of the handshake was reached, in seconds from the arrival of the request, over all joins.
type Step struct {
	Name string  `json:"name"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	// Joins is how many joins have it.
	Joins int `json:"joins"`
}

// TraceLine is one request that belongs to a join.
type TraceLine struct {
	// At is when it arrived, Took until it was answered, in seconds; At counts from the arrival of the request.
	At   float64 `json:"at"`
	Took float64 `json:"took"`
	Who  string  `json:"who"`
	What string  `json:"what"`
	Code int     `json:"code"`
}

// milestone picks the requests that reach a point. With last, the last of them does, else the first. A shared one may be
// reached for several joins by one request, the first after the milestone before it.
type milestone struct {
	name   string
	last   bool
	shared bool
	is     func(e count.Entry) bool
}

// milestones are in the order of the handshake.
var milestones = []milestone{
	{name: "the request is stored", is: wrote(true, "create", "clusterregistrations", "")},
	{name: "the Cluster is created", is: wrote(false, "create", "clusters", "")},
	{name: "its namespace is created", is: wrote(false, "create", "namespaces", "")},
	{name: "the request account is created", is: wrote(false, "create", "serviceaccounts", stage.AgentsNamespace)},
	{name: "the agent's rights are there", last: true, is: func(e count.Entry) bool {
		return wrote(false, "create", "rolebindings", "")(e) && e.Namespace != stage.RegistrationNamespace
	}},
	{name: "the token is minted", is: func(e count.Entry) bool {
		return answered(e) && e.Resource == "serviceaccounts" && e.Subresource == "token"
	}},
	{name: "the credential Secret is written", is: wrote(false, "create", "secrets", stage.RegistrationNamespace)},
	{name: "the import account may read it", shared: true, is: givesAccess},
	{name: "the agent has it", is: func(e count.Entry) bool {
		return isAgents(e.Key) && answered(e) && e.Verb == "get" && e.Resource == "secrets"
	}},
	{name: "the authenticated list", is: func(e count.Entry) bool {
		return isAgents(e.Key) && answered(e) && e.Verb == "list" && e.Resource == "bundledeployments"
	}},
	{name: "the first heartbeat", is: wrote(true, "update", "leases", "")},
	{name: "the credential Secret is deleted", is: wrote(false, "delete", "secrets", stage.RegistrationNamespace)},
	{name: "the agent bundle is created", is: wrote(false, "create", "bundles", "")},
}

func answered(e count.Entry) bool { return e.Code < http.StatusBadRequest }

// wrote matches a successful write to a resource itself, by an agent or by the hub; of one namespace, if that is given.
func wrote(byAgent bool, verb, resource, namespace string) func(count.Entry) bool {
	return func(e count.Entry) bool {
		return answered(e) && e.Verb == verb && e.Resource == resource && e.Subresource == "" && isAgents(e.Key) == byAgent &&
			(namespace == "" || e.Namespace == namespace)
	}
}

// givesAccess matches what lets an import account read a credential Secret.
func givesAccess(e count.Entry) bool {
	return answered(e) && e.Write() && (e.Resource == "roles" || e.Resource == "rolebindings") && e.Namespace == stage.RegistrationNamespace
}

// byJoin sorts the requests of the hub to the joins that they belong to, each list in the order of arrival.
func byJoin(outcomes []Outcome, entries []count.Entry) [][]count.Entry {
	joinOf := map[string]int{}
	for i, o := range outcomes {
		for _, name := range []string{o.Request, stem(o.Request), o.Secret, o.Cluster, o.Namespace, names.AgentBundle(o.Cluster)} {
			joinOf[name] = i
		}
	}
	out := make([][]count.Entry, len(outcomes))
	for _, e := range entries {
		for _, name := range []string{e.Name, stem(e.Name), e.Namespace} {
			if i, ok := joinOf[name]; ok {
				out[i] = append(out[i], e)
				break
			}
		}
	}
	for _, list := range out {
		byArrival(list)
	}
	return out
}

func byArrival(list []count.Entry) {
	slices.SortStableFunc(list, func(a, b count.Entry) int { return a.Received.Compare(b.Received) })
}

// stem is the part of a request's name that names derived from it keep; nobody can guess it, so it is enough.
func stem(name string) string { return name[:min(len(name), 40)] }

// steps says when the joins reached each milestone; all are the requests of the hub.
func steps(joins [][]count.Entry, all []count.Entry) []Step {
	common := slices.Clone(all)
	byArrival(common)
	reached := make([][]time.Duration, len(milestones))
	for _, own := range joins {
		if len(own) == 0 {
			continue
		}
		var at time.Time
		for i, m := range milestones {
			entries := own
			if m.shared {
				first, _ := slices.BinarySearchFunc(common, at, func(e count.Entry, at time.Time) int { return e.Received.Compare(at) })
				entries = common[first:]
			}
			var ok bool
			if at, ok = m.reached(entries); ok {
				reached[i] = append(reached[i], at.Sub(own[0].Received))
			}
		}
	}
	out := make([]Step, len(milestones))
	for i, m := range milestones {
		out[i] = Step{
			Name: m.name, Joins: len(reached[i]),
			P50: bench.Quantile(reached[i], 0.50).Seconds(), P99: bench.Quantile(reached[i], 0.99).Seconds(),
		}
	}
	return out
}

func (m milestone) reached(entries []count.Entry) (at time.Time, ok bool) {
	for _, e := range entries {
		if m.is(e) {
			at, ok = e.Answered, true
			if !m.last {
				break
			}
		}
	}
	return at, ok
}

// trace is the requests of the join whose duration is the median.
func trace(outcomes []Outcome, joins [][]count.Entry) []TraceLine {
	order := make([]int, len(outcomes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(outcomes[a].Duration(), outcomes[b].Duration()) })
	entries := joins[order[(len(order)-1)/2]]
	out := make([]TraceLine, len(entries))
	for i, e := range entries {
		what := e.Verb + " " + e.Resource
		if e.Subresource != "" {
			what += "/" + e.Subresource
		}
		if e.Namespace != "" && e.Namespace != e.Name {
			what += " " + e.Namespace + "/" + e.Name
		} else {
			what += " " + e.Name
		}
		out[i] = TraceLine{
			At: e.Received.Sub(entries[0].Received).Seconds(), Took: e.Answered.Sub(e.Received).Seconds(),
			Who: bench.ClientOf(e.Key), What: what, Code: e.Code,
		}
	}
	return out
}
