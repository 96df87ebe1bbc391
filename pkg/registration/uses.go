package registration

import (
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

// UseLimit is how many requests a token may grant: as many as it says, else as many as the configuration does
// (registration.maxUses). 0 is no limit. What the hub imports by its own token is a person's Cluster, and not bounded by the
// configuration.
func UseLimit(token *fleet.ClusterRegistrationToken, c config.Config) int {
	if token.Spec.MaxUses != nil {
		return int(*token.Spec.MaxUses)
	}
	if cluster, _ := MadeForCluster(token); cluster != "" {
		return 0
	}
	return c.Registration.MaxUses
}

// IsUsedUp says whether a token has granted as many requests as it may.
func IsUsedUp(token *fleet.ClusterRegistrationToken, c config.Config) bool {
	limit := UseLimit(token, c)
	return limit > 0 && len(token.Status.UsedBy) >= limit
}

// UseLimitText says how many requests a token may grant, and where that stands.
func UseLimitText(token *fleet.ClusterRegistrationToken, c config.Config) string {
	where := "spec.maxUses"
	if token.Spec.MaxUses == nil {
		where = "registration.maxUses of the hub's configuration"
	}
	return fmt.Sprintf("%s is %d", where, UseLimit(token, c))
}

// IsUsedBy says whether a request is counted as one of a token's uses.
func IsUsedBy(token *fleet.ClusterRegistrationToken, r *fleet.ClusterRegistration) bool {
	return slices.Contains(token.Status.UsedBy, string(r.UID))
}
