package clusterregistration

import (
	"cmp"
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// deniedTwin is a denied request of the same client with the same key: to ask again with it under another name is no way
// round a denial.
func (h *handler) deniedTwin(r *fleet.ClusterRegistration) (*fleet.ClusterRegistration, error) {
	all, err := h.Registrations.Cache().GetByIndex(deniedRequests, identityKey(r))
	if err != nil {
		return nil, fmt.Errorf("listing denied registrations: %w", err)
	}
	others := slices.DeleteFunc(slices.Clone(all), func(other *fleet.ClusterRegistration) bool {
		return other.UID == r.UID || other.DeletionTimestamp != nil
	})
	if len(others) == 0 {
		return nil, nil
	}
	// Any one would do; always the same one keeps the message from changing.
	return slices.MinFunc(others, func(a, b *fleet.ClusterRegistration) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// identityKey tells who asks: a client with a key, or without one.
func identityKey(r *fleet.ClusterRegistration) string {
	fingerprint := ""
	if pin := offeredPin(r); pin != nil {
		fingerprint = pin.Fingerprint
	}
	return r.Namespace + "/" + fingerprint + "/" + r.Spec.ClientID
}

func denied(r *fleet.ClusterRegistration) bool {
	return r.Status.Approval != nil && r.Status.Approval.Decision == approvalDeny
}

// grantedAnew says that nothing but its denial keeps this agent out: asked for again, the request would be granted. A
// denial of that kind stays, or its end would undo it.
func grantedAnew(in input) bool {
	in.request = in.request.DeepCopy()
	in.request.Status = fleet.ClusterRegistrationStatus{}
	in.deniedTwin = nil
	switch decide(in).outcome {
	case refuse, revoke:
		return false
	}
	return true
}
