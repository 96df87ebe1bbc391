package clusterregistration

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// countTries is how often a use is counted anew when others count theirs at the same moment, before the request waits for
// its next turn.
const countTries = 5

// isUsedUp says that a token grants nothing to a request because others had all its uses.
func isUsedUp(token *fleet.ClusterRegistrationToken, r *fleet.ClusterRegistration, c config.Config) bool {
	return registration.IsUsedUp(token, c) && !registration.IsUsedBy(token, r)
}

func usedUp(token *fleet.ClusterRegistrationToken, cluster *fleet.Cluster, c config.Config) decision {
	return refused(cluster, reasonTokenUsedUp, "token %s has granted as many requests as it may (%s); raise spec.maxUses, or give the agent the values of another token (fleet token create)",
		token.Name, registration.UseLimitText(token, c))
}

// countUse notes in the status of a token with a limit that a request has one of its uses, before anything is made for
// the request: of many that ask at once, no more get in. It says whether others had them all, which is then reported. The
// note names the request, so that one that is granted after a crash is counted once.
func (h *handler) countUse(in input, d decision) (full bool, err error) {
	token := in.token
	if token == nil || in.request.Status.Granted {
		return false, nil
	}
	for try := 1; ; try++ {
		if registration.UseLimit(token, in.config) == 0 || registration.IsUsedBy(token, in.request) {
			return false, nil
		}
		if isUsedUp(token, in.request, in.config) {
			return true, h.apply(in, usedUp(token, existing(d), in.config))
		}
		err := h.writeUse(token, in.request)
		if err == nil {
			return false, nil
		}
		if !apierrors.IsConflict(err) || try == countTries {
			return false, fmt.Errorf("counting a use of token %s: %w", token.Name, err)
		}
		if token, err = h.Tokens.Get(token.Namespace, token.Name, metav1.GetOptions{}); err != nil {
			return false, fmt.Errorf("reading token %s: %w", in.token.Name, err)
		}
		if token.UID != in.token.UID {
			return false, fmt.Errorf("token %s was made anew meanwhile", in.token.Name)
		}
	}
}

// existing is the Cluster that a decision is about, nil where it is yet to be made.
func existing(d decision) *fleet.Cluster {
	if d.outcome == create {
		return nil
	}
	return d.cluster
}

// writeUse writes on exactly what was read: whoever counts at the same moment gets a conflict.
func (h *handler) writeUse(token *fleet.ClusterRegistrationToken, r *fleet.ClusterRegistration) error {
	counted := token.DeepCopy()
	status := kube.ClusterRegistrationTokenStatus(counted)
	status.UsedBy = append(status.UsedBy, string(r.UID))
	status.Uses = int32(len(status.UsedBy))
	_, err := h.Tokens.UpdateStatus(counted)
	return err
}
