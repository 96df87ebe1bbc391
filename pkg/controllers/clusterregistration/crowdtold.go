package clusterregistration

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// crowdedTokens are the tokens that say that no more of their requests are kept, by their namespace.
const crowdedTokens = "fleet.registration.crowded-tokens"

func addCrowdIndexer(deps Deps) {
	deps.Tokens.Cache().AddIndexer(crowdedTokens, func(t *fleet.ClusterRegistrationToken) ([]string, error) {
		if !registration.IsCrowded(t) {
			return nil, nil
		}
		return []string{t.Namespace}, nil
	})
}

// tellCrowdOf says in the status of the token that a request names whether more such requests are kept. It is in the
// request's own turn, after what was decided, and writes when the token fills and when it empties, not for each request.
func (h *handler) tellCrowdOf(in input) error {
	if in.token == nil || in.token.Name != in.request.Labels[names.RegistrationTokenLabel] {
		return nil
	}
	return h.tellCrowd(in.token)
}

// tellCrowdsAfterDeletion is for a request that is gone, of which nothing is known any more but where it was.
func (h *handler) tellCrowdsAfterDeletion(namespace string) error {
	crowded, err := h.Tokens.Cache().GetByIndex(crowdedTokens, namespace)
	if err != nil {
		return fmt.Errorf("listing registration tokens: %w", err)
	}
	for _, token := range crowded {
		if err := h.tellCrowd(token); err != nil {
			return err
		}
	}
	return nil
}

func (h *handler) tellCrowd(token *fleet.ClusterRegistrationToken) error {
	kept, err := h.Registrations.Cache().GetByIndex(keptByToken, token.Namespace+"/"+token.Name)
	if err != nil {
		return fmt.Errorf("listing registrations: %w", err)
	}
	most := maxUngranted(h.Config.Get())
	crowded := isFull(len(kept), most, registration.IsCrowded(token))
	if crowded == registration.IsCrowded(token) {
		return nil
	}
	status, reason, message := metav1.ConditionTrue, "", ""
	if crowded {
		status, reason = metav1.ConditionFalse, reasonTooMany
		message = fmt.Sprintf("%d requests of this token lead to nothing and are kept (registration.maxUngranted): more are not, until a tenth of them is answered or gone. "+
			"Those that can be granted are granted all the same. See fleet registration list; if nobody knows them, the token leaked: delete it and make another", most)
	}
	now := h.Clock.Now()
	_, err = kube.UpdateStatus(h.Tokens, token.Namespace, token.Name, kube.ClusterRegistrationTokenStatus, func(s *fleet.ClusterRegistrationTokenStatus) {
		conditions.SetCondition(&s.Conditions, fleet.TokenConditionRequestsAccepted, status, reason, message, now)
	})
	if err != nil {
		return fmt.Errorf("telling of the requests of token %s: %w", token.Name, err)
	}
	return nil
}

// isFull has a token that was full be so until there is room for more than the next request: one that is flooded would else
// be written at each request that goes.
func isFull(kept, most int, before bool) bool {
	if before {
		return kept > most-max(1, most/10)
	}
	return kept >= most
}
