package preflight

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// resident is an agent that is on a cluster already.
type resident struct {
	namespace string
	// runs says that it has a Deployment; else its secrets alone are left.
	runs bool
	// by is what put it there, empty where that cannot be seen.
	by string
	// reportsTo is the hub of its credential, as the Cluster of that name; joins the hub that it has been told to join.
	reportsTo, as, joins string
	// marked says that an import has left its mark on the namespace; mark is what that says, zero where it cannot be read.
	marked bool
	mark   registration.AgentOwner
	// unread says that its secrets may not be read.
	unread bool
}

// thisHub is what is known of the hub that the cluster is to join.
type thisHub struct {
	address, uid string
	// gone says of a Cluster, as workspace/name, that the hub was asked and has it no more.
	gone map[string]bool
}

// owns says whether an agent is this hub's, as far as that can be seen.
func (h thisHub) owns(r resident) bool {
	if r.marked && h.uid != "" {
		return r.mark.Hub == h.uid
	}
	return h.address != "" && sameAddress(r.hub(), h.address)
}

// unknown says that nothing is known by which its agents could be told from those of others.
func (h thisHub) unknown() bool { return h.address == "" && h.uid == "" }

// joiner is what is to join.
type joiner struct {
	// uid is that of the cluster's namespace kube-system, empty where that may not be read.
	uid string
	// sameServer says that it has the address of the hub.
	sameServer bool
	// chart says that it joins by a token and the chart, not by its kubeconfig.
	chart bool
}

// isHub says whether what is to join is a hub: this one, or one that has imported itself.
func (j joiner) isHub(hub thisHub, found []resident) bool {
	if j.sameServer || j.uid != "" && j.uid == hub.uid {
		return true
	}
	return j.uid != "" && slices.ContainsFunc(found, func(r resident) bool { return r.marked && r.mark.Hub == j.uid })
}

// decideAgents judges the agents that are on a cluster.
func decideAgents(found []resident, err error, hub thisHub, j joiner) finding {
	if err != nil {
		if apierrors.IsForbidden(err) {
			return skip("the account may not look")
		}
		return doubt("it could not be looked for: "+word(timedOut(err).Error()), "Look for Deployment "+names.AgentDeployment+" on the cluster.")
	}
	var lines []string
	ours := true
	for _, r := range found {
		lines = append(lines, r.String())
		ours = ours && hub.owns(r)
	}
	text := strings.Join(lines, "; ")
	switch {
	case j.isHub(hub, found):
		return doubt(strings.TrimSuffix("this cluster is a hub itself; "+text, "; "),
			"Give the kubeconfig of another cluster: a hub makes a Cluster of itself, "+names.DefaultLocalWorkspace+"/"+names.LocalCluster+" (bootstrap.enabled of its chart).")
	case len(found) == 0:
		return fine("there is none")
	case !ours && hub.unknown():
		return doubt(text, "Give --kubeconfig of the hub that is to have the cluster: only then can its own agent be told from another hub's.")
	case !ours:
		return doubt(text, "An agent reports to one hub. To bring the cluster here, follow docs/operations.md, Move a cluster to another hub.")
	}
	if already := clustersOf(found, hub); len(already) > 0 && !j.chart {
		return doubt(text+": it is already Cluster "+strings.Join(already, ", ")+" of this hub",
			"Nothing needs to be done for that Cluster itself. As another Cluster it would be blocked (AgentNamespaceTaken) or take the agent away: delete the first one before.")
	}
	return fine(text + ": it is this hub's, and joins anew")
}

// clustersOf are the Clusters of a hub that agents on a cluster belong to, without those that are gone.
func clustersOf(found []resident, hub thisHub) []string {
	var out []string
	for _, r := range found {
		if name := r.cluster(); name != "" && !hub.gone[name] && !slices.Contains(out, word(name)) {
			out = append(out, word(name))
		}
	}
	return out
}

// cluster is the Cluster that an agent belongs to, as workspace/name, empty where that cannot be seen.
func (r resident) cluster() string {
	if r.mark.Name != "" {
		return r.mark.Namespace + "/" + r.mark.Name
	}
	return r.as
}

// hub is the address of the hub that an agent belongs to, or will.
func (r resident) hub() string {
	if r.joins != "" {
		return r.joins
	}
	return r.reportsTo
}

func (r resident) String() string {
	text := "there is an agent in namespace " + word(r.namespace)
	if !r.runs {
		text = "there are secrets of an agent in namespace " + word(r.namespace) + ", and no Deployment"
	}
	if r.by != "" {
		text += ", put there by " + r.by
	}
	if r.reportsTo != "" {
		text += fmt.Sprintf(", which reports to %s as %s", shownAddress(r.reportsTo), word(r.as))
	}
	if r.joins != "" {
		text += ", which is to join " + shownAddress(r.joins)
	}
	switch {
	case r.marked && r.mark.Name == "":
		text += "; its namespace has a mark that cannot be read"
	case r.marked:
		text += fmt.Sprintf("; its namespace is marked as that of Cluster %s/%s of the hub whose kube-system has UID %s", r.mark.Namespace, r.mark.Name, r.mark.Hub)
	}
	if r.unread {
		text += "; its secrets may not be read"
	}
	return text
}
