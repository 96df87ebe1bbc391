package preflight

import (
	"fmt"
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
type thisHub struct{ address, uid string }

// owns says whether an agent is this hub's, as far as that can be seen.
func (h thisHub) owns(r resident) bool {
	if r.marked && h.uid != "" {
		return r.mark.Hub == h.uid
	}
	return h.address != "" && sameAddress(r.hub(), h.address)
}

// decideAgents judges the agents that are on a cluster.
func decideAgents(found []resident, err error, hub thisHub) finding {
	if err != nil {
		if apierrors.IsForbidden(err) {
			return skip("the account may not look")
		}
		return doubt("it could not be looked for: "+word(timedOut(err).Error()), "Look for Deployment "+names.AgentDeployment+" on the cluster.")
	}
	if len(found) == 0 {
		return fine("there is none")
	}
	var lines []string
	ours := true
	for _, r := range found {
		lines = append(lines, r.String())
		ours = ours && hub.owns(r)
	}
	text := strings.Join(lines, "; ")
	if ours {
		return fine(text + ": it is this hub's, and joins anew")
	}
	return doubt(text, "Is it another hub's, delete or revoke its Cluster there first (docs/operations.md, Move a cluster to another hub), since an agent reports to one hub.")
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
