package provenance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// eventReason is that of the Event when the origin of requests is checked again; the Event of the contrary has the reason
// why it is not.
const eventReason = "ProvenanceEnforced"

// announcement is what a change is worth to people, empty for nothing: a hub that finds all in order at its start has
// nothing to tell.
func announcement(before, found registration.Provenance) (eventType, reason, message string) {
	switch {
	case !found.Known() || found.Enforced() && !before.Known():
		return "", "", ""
	case found.Enforced():
		return corev1.EventTypeNormal, eventReason, fmt.Sprintf("The origin of registration requests is checked again by admission policy %s", names.RegistrationPolicy)
	case found.Reason == before.Reason:
		return "", "", "" // it is told, and only the words are others
	}
	return corev1.EventTypeWarning, found.Reason, "ProvenanceEnforced=False: " + found.Message
}

// announcer writes what changed as Events of the hub's ConfigMap, which is what the hub is known by in its namespace.
func announcer(events record.EventRecorder, n names.Namespaces) func(before, found registration.Provenance) {
	hub := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: n.System, Name: names.ControllerConfigMap}
	return func(before, found registration.Provenance) {
		if eventType, reason, message := announcement(before, found); eventType != "" {
			events.Event(hub, eventType, reason, message)
		}
	}
}
