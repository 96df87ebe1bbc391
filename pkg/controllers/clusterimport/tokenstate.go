package clusterimport

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// tokenTrouble is why a token is not ready, and its reason, both empty where it is, or was not yet looked at.
func tokenTrouble(token *fleet.ClusterRegistrationToken) (reason, message string) {
	ready := conditions.GetCondition(token.Status.Conditions, fleet.TokenConditionReady)
	if ready == nil || ready.Status != corev1.ConditionFalse {
		return "", ""
	}
	return ready.Reason, ready.Message
}

// reportStuckToken says what the import token of a cluster waits for, where that is more than its turn.
func (h *handler) reportStuckToken(f facts) error {
	name := names.ImportToken(f.cluster.Name)
	token, err := h.Tokens.Cache().Get(f.cluster.Namespace, name)
	if err != nil || !ownedBy(token, f.cluster) {
		return nil //nolint:nilerr // it was made a moment ago, or taken away: its event is to come
	}
	reason, message := tokenTrouble(token)
	if !registration.IsTokenStuck(reason) {
		return nil
	}
	return h.reportProblem(f, reasonWaitToken, plain(fmt.Errorf("ClusterRegistrationToken %s: %s: %w", name, reason, errors.New(message))))
}

// tokenVersion changes with the import token of a cluster, with its values, and with what keeps it from having any.
func (h *handler) tokenVersion(c *fleet.Cluster) string {
	name := names.ImportToken(c.Name)
	token, err := h.Tokens.Cache().Get(c.Namespace, name)
	if err != nil {
		return ""
	}
	reason, _ := tokenTrouble(token)
	version := string(token.UID) + "/" + reason
	if secret, err := h.Secrets.Cache().Get(c.Namespace, name); err == nil {
		version += "/" + secret.ResourceVersion
	}
	return version
}
