package registration

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// MadeForCluster is the Cluster that the hub made a token for, to import it; both are empty for a token of a person. Such a
// token is owned by its Cluster and has the name that follows from it: an owner alone can be anybody's idea.
func MadeForCluster(t *fleet.ClusterRegistrationToken) (name string, uid types.UID) {
	for _, owner := range t.OwnerReferences {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if group == fleet.SchemeGroupVersion.Group && owner.Kind == "Cluster" && t.Name == names.ImportToken(owner.Name) {
			return owner.Name, owner.UID
		}
	}
	return "", ""
}
