package telemetry

import (
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

var (
	tokenRow = row{condition: fleet.TokenConditionReady, quiet: tokenWaits}
	crowdRow = row{
		condition: fleet.TokenConditionRequestsAccepted, restored: "RequestsAccepted",
		message: "there is room again for requests of this token that lead to nothing yet",
	}
)

// tokenNews is what a change of a registration token is worth; before is nil for a new one, after for one that is gone.
func tokenNews(before, after *fleet.ClusterRegistrationToken, now time.Time) []announcement {
	switch {
	case after == nil:
		return tokenEnd(before, now)
	case after.DeletionTimestamp != nil:
		return nil
	case before == nil:
		before = &fleet.ClusterRegistrationToken{}
	}
	news := tokenRow.news(aboutToken(after), before.Status.Conditions, after.Status.Conditions)
	return told(append(news, crowdRow.news(aboutToken(after), before.Status.Conditions, after.Status.Conditions)...))
}

// tokenEnd tells that a token of a person has ended. Those that the hub makes for an import come and go with it.
func tokenEnd(t *fleet.ClusterRegistrationToken, now time.Time) []announcement {
	if t.Status.Expires == nil || now.Before(t.Status.Expires.Time) {
		return nil
	}
	if cluster, _ := registration.MadeForCluster(t); cluster != "" {
		return nil
	}
	return []announcement{{event: warning(aboutToken(t), reasonTokenExpired,
		"spec.ttl is over: the token can no longer be used to register; clusters that have registered with it are not touched")}}
}
