package explain

import (
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// newCluster is the name that a Cluster gets which a request would make, empty where it makes none or nothing says so.
// token is the one that the request came with, nil where there is none or it cannot be read.
func newCluster(r *fleet.ClusterRegistration, token *fleet.ClusterRegistrationToken, reason string) string {
	mayStill := reason == "" || reason == ReasonDenied || WaitsForPerson(reason) || isWait(reason)
	if r.Status.Granted || r.Status.ClusterName != "" || token == nil || !mayStill {
		return ""
	}
	if made, _ := registration.MadeForCluster(token); made != "" {
		return "" // the hub's own token leads to a Cluster that is there
	}
	if token.Spec.ClusterName != "" {
		return token.Spec.ClusterName
	}
	if r.Spec.ClientID == "" {
		return ""
	}
	return names.RegisteredCluster(r.Spec.ClientID)
}

// droppedLabels are the keys of labels that an agent asks for and its new Cluster does not get: those that are reserved,
// and those that the token does not allow.
func droppedLabels(r *fleet.ClusterRegistration, token *fleet.ClusterRegistrationToken) []string {
	kept := registration.SanitizeLabels(r.Spec.ClusterLabels)
	var dropped []string
	for key := range r.Spec.ClusterLabels {
		_, keeps := kept[key]
		allowed := token.Spec.AllowedLabels == nil || key == names.CreatedByAgentPodLabel || slices.Contains(*token.Spec.AllowedLabels, key)
		if !keeps || !allowed {
			dropped = append(dropped, key)
		}
	}
	slices.Sort(dropped)
	return dropped
}

// tokenFor is the token of a request, nil where it is not the one that was read.
func (v *view) tokenFor(r *fleet.ClusterRegistration) *fleet.ClusterRegistrationToken {
	if t := v.Token.Value; t != nil && t.Name == tokenOf(r) {
		return t
	}
	return nil
}
