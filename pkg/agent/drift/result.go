package drift

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/wrangler/v3/pkg/summary"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Input is a release and the objects that were found for it.
type Input struct {
	Wanted Wanted
	Scope  Scope
	// Live are the objects of the cluster that have the bundle's label, and those of others that have a wanted name.
	Live []*unstructured.Unstructured
}

// Result is what a BundleDeployment's status says about its objects. Its lists are sorted and bounded.
type Result struct {
	Ready, NonModified bool
	NonReadyStatus     []fleet.NonReadyStatus
	ModifiedStatus     []fleet.ModifiedStatus
	Resources          []fleet.BundleDeploymentResource
	ResourceCounts     fleet.ResourceCounts
	// Incomplete says that there is more than the lists hold.
	Incomplete bool
	// Unwatched says that the result rests on something that no watch reports: an object of another's, or a kind that
	// is not served. It is to be looked at again after a while.
	Unwatched bool
}

// Observation is what was found of one object: all that is remembered of it.
type Observation struct {
	APIVersion string
	UID        types.UID
	CreatedAt  metav1.Time
	// Foreign says that the object has not the bundle's label.
	Foreign bool
	// Kept says that the object is to stay although nobody wants it.
	Kept bool
	// Patch is what would make the object what it should be, empty if it is.
	Patch string
	// NotReady says why the object is not ready, nil if it is.
	NotReady *summary.Summary
}

// Condition is the status and the message of the conditions Ready and Monitored.
func (r Result) Condition() (ready bool, message string) {
	if r.Ready && r.NonModified {
		return true, ""
	}
	switch {
	case len(r.NonReadyStatus) > 0:
		return false, bounded(r.NonReadyStatus[0].String(), maxMessage)
	case len(r.ModifiedStatus) > 0:
		return false, bounded(r.ModifiedStatus[0].String(), maxMessage)
	case !r.Ready:
		return false, "not ready"
	default:
		return false, "out of sync"
	}
}
