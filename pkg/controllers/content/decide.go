package content

import (
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// unused is how long a Content may wait for the first who needs it: it is made before its deployments.
const unused = 10 * time.Minute

// decision is the next step for a Content.
type decision struct {
	// release takes off the finalizers that earlier releases put there, from one that is being deleted.
	release bool
	// count is the number of references to write down, nil where it is right.
	count *int
	// remove deletes it, lookAgain says when to look whether to.
	remove    bool
	lookAgain time.Duration
}

// decide counts references; used says that there was one, even if it was never counted.
func decide(c *fleet.Content, references int, used bool, now time.Time) decision {
	age := now.Sub(c.CreationTimestamp.Time)
	switch {
	case c.DeletionTimestamp != nil:
		return decision{release: len(c.Finalizers) > 0}
	case references > 0 && references != c.Status.ReferenceCount && age < settle:
		return decision{lookAgain: settle - age} // its deployments are still being made
	case references > 0 && references != c.Status.ReferenceCount:
		return decision{count: &references}
	case references > 0:
		return decision{}
	case c.Status.ReferenceCount > 0 || used:
		return decision{remove: true}
	}
	if age < unused {
		return decision{lookAgain: unused - age}
	}
	return decision{remove: true}
}
