package clusterregistration

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// report writes what became of a request in one write, and nothing where nothing changed.
func (h *handler) report(in input, d decision, record *fleet.CredentialRecord) error {
	r := in.request
	now := h.Clock.Now()
	updated, err := kube.UpdateStatus(h.Registrations, r.Namespace, r.Name, kube.ClusterRegistrationStatus, func(status *fleet.ClusterRegistrationStatus) {
		if d.cluster != nil {
			status.ClusterName = d.cluster.Name
		}
		status.Granted = d.outcome == grant
		granted := metav1.ConditionFalse
		if status.Granted {
			granted = metav1.ConditionTrue
		}
		conditions.SetCondition(&status.Conditions, fleet.RegistrationConditionGranted, granted, d.reason, d.message, now)
		if record != nil {
			status.Credentials = registration.Remember(status.Credentials, *record)
		}
		reportCredential(status, in, d, record, now)
	})
	if updated != nil {
		h.recent.Wrote(updated)
	}
	return err
}

func reportCredential(status *fleet.ClusterRegistrationStatus, in input, d decision, record *fleet.CredentialRecord, now time.Time) {
	used := conditions.IsTrue(status.Conditions, fleet.RegistrationConditionCredentialUsed)
	set := func(value metav1.ConditionStatus, reason, message string) {
		conditions.SetCondition(&status.Conditions, fleet.RegistrationConditionCredentialReady, value, reason, message, now)
	}
	switch {
	case d.outcome != grant:
		if conditions.GetCondition(status.Conditions, fleet.RegistrationConditionCredentialReady) != nil {
			set(metav1.ConditionFalse, d.reason, "")
		}
	case used:
		registration.SetInUse(status, now)
	case record != nil:
		set(metav1.ConditionTrue, "Ready", "the credential waits for the agent; it "+endOfRecord(record))
	case d.pending:
		set(metav1.ConditionFalse, reasonTokenPending, "a token without an end is being made by the API server's controllers (agentCredential.onShortLifetime: secret)")
	case in.importAccountUID == "":
		set(metav1.ConditionFalse, reasonImportAccountGone, "the import account ended before the agent took the credential; give the agent the values of a new token")
	}
}

func endOfRecord(record *fleet.CredentialRecord) string {
	if record.Expires == nil {
		return "has no end"
	}
	return "ends " + record.Expires.UTC().Format(time.RFC3339)
}
