package explain

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Read is what a look at the hub has brought. Unknown says why nothing can be said, such as a right that is missing; where
// it is empty, an empty Value means that there is none.
type Read[T any] struct {
	Value   T
	Unknown string
}

// Facts are what a person may read of one cluster.
type Facts struct {
	Now             time.Time
	Workspace, Name string
	// Cluster is nil where there is none of this name.
	Cluster *fleet.Cluster
	// Requests are those for which Concerns is true.
	Requests Read[[]*fleet.ClusterRegistration]
	// Token is the registration token that TokenName names, by the facts above and the Lease.
	Token Read[*fleet.ClusterRegistrationToken]
	// Lease is the heartbeat of the cluster.
	Lease Read[*coordinationv1.Lease]
	// Hub is what agents are told of the hub.
	Hub Read[*Hub]
	// Warnings are the hub's Warning events about the cluster, its requests and its token.
	Warnings Read[[]Warning]
}

// Hub is how agents reach the hub.
type Hub struct {
	URL string
	// CA is PEM.
	CA []byte
	// Source is where this was read.
	Source string
}

// Warning is an event of the hub.
type Warning struct {
	Time    metav1.Time
	About   string
	Reason  string
	Message string
}

// Concerns says whether a request is about the cluster: it was matched to it, it has its client ID, or it would make a
// Cluster of this name. named are the tokens whose spec.clusterName is the cluster's: while there is no such Cluster, who
// came with one of them and was refused is what its name is asked about, also where the client is another Cluster's.
func Concerns(r *fleet.ClusterRegistration, cluster *fleet.Cluster, name string, named map[string]bool) bool {
	switch {
	case cluster == nil && !r.Status.Granted && named[tokenOf(r)]:
		return true
	case r.Status.ClusterName != "":
		return r.Status.ClusterName == name
	case cluster != nil:
		return cluster.Spec.ClientID != "" && r.Spec.ClientID == cluster.Spec.ClientID
	}
	return r.Spec.ClientID != "" && names.RegisteredCluster(r.Spec.ClientID) == name
}

// TokenName is the registration token that a cluster joins with, empty where nothing says which. The hub's own token is
// named after the cluster that it imports; an agent that joins by itself names its token in its request, the one that it
// lives by rather than one that was refused since.
func TokenName(f Facts) string { return newView(f).tokenName() }
