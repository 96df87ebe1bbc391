package registration

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// Reasons of a request whose credential is in use.
const (
	ReasonCredentialUsed  = "CredentialUsed"
	ReasonCredentialInUse = "InUse"
)

// MarkUsed notes on a request that its agent uses a credential. Everything that follows from this for the request's status
// is set at once, so that it costs one write.
func MarkUsed(status *fleet.ClusterRegistrationStatus, record fleet.CredentialRecord, now time.Time) {
	status.Credentials = Remember(status.Credentials, record)
	for i := range status.Credentials {
		if status.Credentials[i].Digest == record.Digest {
			status.Credentials[i].Used = true
		}
	}
	conditions.SetCondition(&status.Conditions, fleet.RegistrationConditionCredentialUsed, metav1.ConditionTrue, ReasonCredentialUsed, "", now)
	if status.Granted {
		SetInUse(status, now)
	}
}

// SetInUse says that nothing waits for the agent any more.
func SetInUse(status *fleet.ClusterRegistrationStatus, now time.Time) {
	conditions.SetCondition(&status.Conditions, fleet.RegistrationConditionCredentialReady, metav1.ConditionTrue, ReasonCredentialInUse,
		"the agent uses the credential; nothing waits for it", now)
}
