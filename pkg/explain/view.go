package explain

import (
	"slices"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// view is the facts and what follows from them at once.
type view struct {
	Facts
	joinedBy string
	// current is the request whose steps are told: the one whose credential is in use, else the newest.
	current *fleet.ClusterRegistration
	// record is the credential in use, or the newest one of current.
	record *fleet.CredentialRecord
	// holder is who the heartbeats come from; shown is false where the Lease does not say.
	holder registration.Holder
	shown  bool
	// inUse says that the hub has record of the credential that the holder shows.
	inUse bool
	// foreignLease says that the Lease is marked as another cluster's.
	foreignLease bool
	imported     registration.Import
	hasImport    bool
}

func newView(f Facts) *view {
	v := &view{Facts: f, joinedBy: registration.JoinedByAgent}
	if f.Cluster != nil {
		v.joinedBy = registration.JoinMethod(f.Cluster)
		v.imported, v.hasImport = registration.ImportOf(f.Cluster.Annotations)
	}
	if lease := f.Lease.Value; lease != nil {
		cluster := lease.Annotations[names.ClusterAnnotation]
		v.foreignLease = cluster != "" && (cluster != f.Name || lease.Annotations[names.ClusterNamespaceAnnotation] != f.Workspace)
		if lease.Spec.HolderIdentity != nil && !v.foreignLease {
			v.holder, v.shown = registration.ParseHolder(*lease.Spec.HolderIdentity)
		}
	}
	v.pickRequest()
	return v
}

// pickRequest finds the request that the agent lives by: by the credential that its heartbeat shows, else the newest one
// that was granted, else the newest.
func (v *view) pickRequest() {
	requests := newestFirst(v.Requests.Value)
	if v.shown {
		for _, r := range requests {
			if record := registration.RecordByDigest(r.Status.Credentials, v.holder.Digest); record != nil {
				v.current, v.record, v.inUse = r, record, true
				return
			}
		}
	}
	for _, r := range requests {
		if v.current == nil || r.Status.Granted && !v.current.Status.Granted {
			v.current = r
		}
	}
	if v.current != nil && len(v.current.Status.Credentials) > 0 {
		v.record = &v.current.Status.Credentials[len(v.current.Status.Credentials)-1]
	}
}

// tokenName is the registration token that the cluster joins with.
func (v *view) tokenName() string {
	switch {
	case v.byHub():
		return names.ImportToken(v.Name)
	case v.current != nil:
		return tokenOf(v.current)
	}
	return ""
}

func newestFirst(requests []*fleet.ClusterRegistration) []*fleet.ClusterRegistration {
	return slices.SortedFunc(slices.Values(requests), func(a, b *fleet.ClusterRegistration) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
}

// condition is one of the Cluster's, nil where there is none.
func (v *view) condition(kind string) *genericcondition.GenericCondition {
	if v.Cluster == nil {
		return nil
	}
	return conditions.GetCondition(v.Cluster.Status.Conditions, kind)
}

// suspected says that two agents seem to use the one credential.
func (v *view) suspected() bool {
	c := v.condition(fleet.ClusterConditionAgentConnected)
	return c != nil && c.Reason == registration.ReasonCloneSuspected
}

func (v *view) isTrue(kind string) bool  { return isTrue(v.condition(kind)) }
func (v *view) isFalse(kind string) bool { return isFalse(v.condition(kind)) }

// registered says that the agent has used a credential that the hub granted.
func (v *view) registered() bool { return v.isTrue(fleet.ClusterConditionRegistered) }

// byHub says that the hub itself puts the agent there.
func (v *view) byHub() bool { return v.joinedBy != registration.JoinedByAgent }

// kubeconfigSecret is where the kubeconfig of the Cluster lies.
func (v *view) kubeconfigSecret() string {
	return registration.KubeconfigSecretNamespace(v.Cluster) + "/" + v.Cluster.Spec.KubeConfigSecret
}

func isTrue(c *genericcondition.GenericCondition) bool {
	return c != nil && c.Status == corev1.ConditionTrue
}

func isFalse(c *genericcondition.GenericCondition) bool {
	return c != nil && c.Status == corev1.ConditionFalse
}

// since is when a condition came into its status.
func since(c *genericcondition.GenericCondition) *metav1.Time {
	if c == nil {
		return nil
	}
	return parseTime(c.LastTransitionTime)
}

func parseTime(text string) *metav1.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}

func timeOf(at metav1.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.UTC()}
}

// stamp is a time in a sentence.
func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
