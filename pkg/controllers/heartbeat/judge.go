package heartbeat

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

// evidence is what a judgement rests on.
type evidence struct {
	cluster *fleet.Cluster
	pulse   pulse
	grace   time.Duration
	now     time.Time
	// requests are those of this cluster.
	requests []*fleet.ClusterRegistration
	// accounts are the UIDs of the request accounts that live, by the name of the request.
	accounts map[string]string
	// renewed is the secret with the next credential, nil where there is none.
	renewed *corev1.Secret
	// kubeconfig is the kubeconfig secret, nil where there is none, and basis tells it and the hub's CA from others.
	kubeconfig *corev1.Secret
	basis      string
	// lives is what ends beside the agent's credential.
	lives registration.Lives
	// legacy says that the agent has no Lease and checks in by its status.
	legacy bool
}

// verdict is what follows.
type verdict struct {
	contact contact
	use     use
	// firstUse says that the credential is seen in use for the first time.
	firstUse bool
	// problem says why the credential that the agent has cannot be good any more, empty while it is.
	problemReason, problem string
	// renewal is when the credential is due for renewal, zero if it never is.
	renewal time.Time
	// clone is the suspicion that two agents use the one credential, nil where there is none.
	clone *registration.Clone
	// pin is the identity to bind the cluster to, nil where there is none to bind.
	pin *registration.Pin
	// warning says what ends soon, and what to do; change is when that becomes another.
	warning string
	change  time.Time
}

// due is when there is something to be done or said although nothing happens. An agent that is silent takes no renewal.
func (v verdict) due() time.Time {
	if v.contact != connected {
		return v.change
	}
	return earlier(v.renewal, v.change)
}

func (e evidence) contact() contact { return e.pulse.contact(e.now, e.grace) }

func judge(e evidence) verdict {
	v := verdict{contact: e.contact(), use: useOf(e)}
	v.clone, v.pin = cloneOf(e, v), pinOnUse(e, v)
	record := v.use.record
	if record == nil {
		return v
	}
	known := record.Used && conditions.IsTrue(v.use.request.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
	v.firstUse = v.contact == connected && !known
	// An agent that does not show which credential it has takes no other one either.
	if v.use.shown && record.Issued != nil && record.Expires != nil {
		v.renewal = registration.RenewalDue(record.Issued.Time, record.Expires.Time)
	}
	v.warning, v.change = e.lives.Warnings(e.cluster, lifeOf(record), e.now)
	uid, lives := e.accounts[v.use.request.Name]
	switch {
	case e.cluster.Spec.Revoked:
		v.problemReason, v.problem = reasonRevoked, "the cluster is revoked (spec.revoked)"
	case record.Expires != nil && e.now.After(record.Expires.Time):
		v.problemReason, v.problem = reasonExpired, fmt.Sprintf("the agent's credential ended at %s", record.Expires.UTC().Format(time.RFC3339))
	case lives && uid != record.AccountUID:
		v.problemReason, v.problem = reasonAccountReplaced, "the account of the agent's credential was deleted; the credential died with it"
	}
	return v
}
