package registration

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// UsesLeft is how many requests a token may still grant, and whether there is a limit.
func UsesLeft(token *fleet.ClusterRegistrationToken) (left int, limited bool) {
	if token.Spec.MaxUses == nil {
		return 0, false
	}
	return max(int(*token.Spec.MaxUses)-len(token.Status.UsedBy), 0), true
}

// IsUsedBy says whether a request is counted as one of a token's uses.
func IsUsedBy(token *fleet.ClusterRegistrationToken, r *fleet.ClusterRegistration) bool {
	return slices.Contains(token.Status.UsedBy, string(r.UID))
}
