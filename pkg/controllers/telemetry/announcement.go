package telemetry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// announcement is one thing to make known of a change: an Event, one more of something, or both. What is not set is
// neither told nor counted.
type announcement struct {
	event event
	count count
}

// event is an Event to write.
type event struct {
	about           subject
	eventType       string
	reason, message string
	// name is for an Event of the ledger, which must not be repeated: it follows from what the Event says. The others are
	// named when they are written.
	name string
}

// subject is the object that an Event is about. Without a UID it is looked up by its name when the Event is written.
type subject struct {
	kind, namespace, name string
	uid                   types.UID
}

const (
	clusterKind    = "Cluster"
	requestKind    = "ClusterRegistration"
	tokenKind      = "ClusterRegistrationToken"
	bundleKind     = "Bundle"
	deploymentKind = "BundleDeployment"
)

func (s subject) reference() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: fleet.SchemeGroupVersion.String(), Kind: s.kind, Namespace: s.namespace, Name: s.name, UID: s.uid,
	}
}

func aboutCluster(c *fleet.Cluster) subject {
	return subject{kind: clusterKind, namespace: c.Namespace, name: c.Name, uid: c.UID}
}

func aboutRequest(r *fleet.ClusterRegistration) subject {
	return subject{kind: requestKind, namespace: r.Namespace, name: r.Name, uid: r.UID}
}

func aboutToken(t *fleet.ClusterRegistrationToken) subject {
	return subject{kind: tokenKind, namespace: t.Namespace, name: t.Name, uid: t.UID}
}

func aboutBundle(b *fleet.Bundle) subject {
	return subject{kind: bundleKind, namespace: b.Namespace, name: b.Name, uid: b.UID}
}

func aboutDeployment(bd *fleet.BundleDeployment) subject {
	return subject{kind: deploymentKind, namespace: bd.Namespace, name: bd.Name, uid: bd.UID}
}

func normal(about subject, reason, message string) event {
	return event{about: about, eventType: corev1.EventTypeNormal, reason: reason, message: bounded(message, maxMessage)}
}

func warning(about subject, reason, message string) event {
	return event{about: about, eventType: corev1.EventTypeWarning, reason: oneWord(reason), message: bounded(message, maxMessage)}
}

// count is one more of something.
type count struct {
	of    counter
	label string
}

// counter is what is counted.
type counter string

const (
	handshakes       counter = "handshakes"
	refusals         counter = "refusals"
	imports          counter = "imports"
	bundleRefused    counter = "bundle refused"
	deploymentFailed counter = "deployment failed"
)
