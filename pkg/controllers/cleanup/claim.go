package cleanup

import (
	"slices"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/apply"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Kinds of owners.
const (
	kindCluster      = "Cluster"
	kindRegistration = "ClusterRegistration"
	kindToken        = "ClusterRegistrationToken"
)

// sets are the apply sets whose objects are taken away with their owner.
var sets = []string{names.SetToken, names.SetGrant, names.SetReport}

// claimOf is what an object says of whom it belongs to: by our own annotation, or by those of the apply engine, which
// know no UID. ok is false for an object that says nothing, or names an owner of a kind that is none of ours.
func claimOf(obj metav1.Object) (names.OwnerRef, bool) {
	if ref, ok := names.ParseOwnerRef(obj.GetAnnotations()[names.OwnerAnnotation]); ok {
		return ref, isOwnerKind(ref.Kind)
	}
	return setClaim(obj.GetAnnotations())
}

func isOwnerKind(kind string) bool {
	return kind == kindCluster || kind == kindRegistration || kind == kindToken
}

func setClaim(annotations map[string]string) (names.OwnerRef, bool) {
	if !slices.Contains(sets, annotations[apply.LabelID]) {
		return names.OwnerRef{}, false
	}
	// It is written as "group/version, Kind=kind".
	groupVersion, kind, ok := strings.Cut(annotations[apply.LabelGVK], ", Kind=")
	group, _, _ := strings.Cut(groupVersion, "/")
	ref := names.OwnerRef{Kind: kind, Namespace: annotations[apply.LabelNamespace], Name: annotations[apply.LabelName]}
	return ref, ok && group == fleet.SchemeGroupVersion.Group && isOwnerKind(kind) && ref.IsValid() && ref.Namespace != ""
}

// isManaged says that an object is one of ours at all. For Secrets it is not enough: users' own carry the label too.
func isManaged(obj metav1.Object) bool {
	return obj.GetLabels()[names.ManagedLabel] == "true"
}

// replaced says that the object that an owner's name stands for now is another one.
func replaced(ref names.OwnerRef, obj metav1.Object) bool {
	return ref.UID != "" && string(obj.GetUID()) != ref.UID
}
