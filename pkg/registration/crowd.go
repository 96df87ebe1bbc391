package registration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// IsCrowded says that so many requests of a token lead to nothing that no more are kept, as its status says.
func IsCrowded(token *fleet.ClusterRegistrationToken) bool {
	accepted := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionRequestsAccepted)
	return accepted != nil && string(accepted.Status) == string(metav1.ConditionFalse)
}

// CrowdedMessage is what the status says of that, empty where a token is not crowded.
func CrowdedMessage(token *fleet.ClusterRegistrationToken) string {
	if !IsCrowded(token) {
		return ""
	}
	accepted := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionRequestsAccepted)
	return accepted.Reason + ": " + accepted.Message
}
