package registration

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// maxRound bounds how often a Cluster can be readmitted: a person may have edited the annotation.
const maxRound = 1_000_000

// revokedMark stands behind the round in the annotation of a Cluster that is revoked.
const revokedMark = "revoked"

// Place says which of a Cluster's namespaces on the hub is its own. It is kept in an annotation that no agent can write: a
// namespace that an agent was revoked from is never used again, nor is its name.
type Place struct {
	// Round is how often the Cluster was readmitted.
	Round int
	// Revoked says that the namespace of this round is spent.
	Revoked bool
}

// PlaceOf reads the place from a Cluster's annotations. What cannot be read is an error: a wrong guess would use a namespace
// again.
func PlaceOf(annotations map[string]string) (Place, error) {
	raw, ok := annotations[names.PlaceAnnotation]
	if !ok {
		return Place{}, nil
	}
	number, mark, marked := strings.Cut(raw, " ")
	round, err := strconv.Atoi(number)
	if err != nil || round < 0 || round > maxRound || marked && mark != revokedMark {
		return Place{}, fmt.Errorf("annotation %s cannot be read: restore it, as the number of times that the cluster was readmitted", names.PlaceAnnotation)
	}
	return Place{Round: round, Revoked: marked}, nil
}

// Next is the place of a Cluster that is revoked, or not: who was revoked gets another one.
func (p Place) Next(revoked bool) Place {
	switch {
	case revoked:
		return Place{Round: p.Round, Revoked: true}
	case p.Revoked:
		return Place{Round: p.Round + 1}
	}
	return p
}

// Annotation is the place as the value of names.PlaceAnnotation.
func (p Place) Annotation() string {
	if p.Revoked {
		return strconv.Itoa(p.Round) + " " + revokedMark
	}
	return strconv.Itoa(p.Round)
}

// RoundOf is the round that a namespace was made for.
func RoundOf(ns *corev1.Namespace) (int, error) {
	place, err := PlaceOf(ns.Annotations)
	if err == nil && place.Revoked {
		err = fmt.Errorf("namespace %s: annotation %s is no number", ns.Name, names.PlaceAnnotation)
	}
	return place.Round, err
}

// IsPlaceOf says whether a namespace is a Cluster's. That the Cluster's status says so is no proof: an agent can write
// there, and would be given rights, or a credential, in the namespace of another, or in one that it was revoked from. Nor are
// marks: whoever may edit some namespace could give it away, with what is in it. So it has the name that follows from the
// Cluster's, and the Cluster's UID; an earlier Cluster of the same name left its namespace with its own UID, and that one may
// hold its secrets.
//
// A namespace without a UID is one of an installation before ours, which the Cluster's status names: where it does not, it was
// made by somebody who waits for what the hub will put there.
func IsPlaceOf(ns *corev1.Namespace, c *fleet.Cluster) bool {
	place, err1 := PlaceOf(c.Annotations)
	round, err2 := RoundOf(ns)
	// A readmission counts from the moment that it is ordered, or a request that waits for it would be granted where it must
	// not be.
	if err1 != nil || err2 != nil || place.Next(c.Spec.Revoked).Round != round || ns.Name != names.ClusterPlace(c.Namespace, c.Name, round) {
		return false
	}
	if owner, ok := names.ParseOwnerRef(ns.Annotations[names.OwnerAnnotation]); ok {
		return owner.UID == string(c.UID)
	}
	workspace, name := ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]
	return round == 0 && c.Status.Namespace == ns.Name && (workspace == "" && name == "" || workspace == c.Namespace && name == c.Name)
}
