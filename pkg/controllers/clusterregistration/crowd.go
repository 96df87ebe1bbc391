package clusterregistration

import (
	"fmt"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// crowdTTL is how long a request stays that is one too many: long enough for its agent to read why.
const crowdTTL = time.Minute

// withinBounds refuses to keep a request that leads to nothing where too many of its token do so already. One that can be
// granted is granted, however many others there are, and one that was kept before stays.
func withinBounds(in input, d decision) decision {
	r := in.request
	if !leadsNowhere(d) || r.Status.Granted || approved(r) || isKept(r) || in.ungranted < maxUngranted(in.config) {
		return d
	}
	whose := "of this workspace that name no token which exists"
	if in.token != nil {
		whose = "that name token " + in.token.Name
	}
	return refused(d.cluster, reasonTooMany, "%d requests %s, or more, lead to nothing and are kept (registration.maxUngranted): this one is deleted after %s, and its agent asks again; answer or delete the others. It is not granted as: %s: %s",
		maxUngranted(in.config), whose, crowdTTL, d.reason, d.message)
}

func leadsNowhere(d decision) bool {
	return d.outcome == refuse || d.outcome == revoke && d.reason == reasonRevoked
}

// isKept says that a request that leads to nothing counts for its token. What only waits for the hub does not.
func isKept(r *fleet.ClusterRegistration) bool {
	switch grantedReason(r) {
	case "", reasonTooMany, reasonWaitAccount, reasonWaitNamespace, reasonWaitDeletion, reasonWaitProvenance:
		return false
	}
	return true
}

func maxUngranted(c config.Config) int {
	if c.Registration.MaxUngranted > 0 {
		return c.Registration.MaxUngranted
	}
	return config.DefaultMaxUngranted
}

// keptKey is what the kept requests of a token have in common. Those whose token does not exist have one key together: else
// a name that is made up anew each time would be a way around.
func keptKey(r *fleet.ClusterRegistration, known bool) string {
	if !known {
		return r.Namespace + "/"
	}
	return r.Namespace + "/" + r.Labels[names.RegistrationTokenLabel]
}

// countKept is how many other requests of the same token lead to nothing and are kept.
func (h *handler) countKept(r *fleet.ClusterRegistration, known bool) (int, error) {
	kept, err := h.Registrations.Cache().GetByIndex(keptByToken, keptKey(r, known))
	if err != nil {
		return 0, fmt.Errorf("listing registrations: %w", err)
	}
	return len(kept), nil
}
