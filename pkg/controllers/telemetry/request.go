package telemetry

import (
	"fmt"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// requestNews is what a change of a registration request is worth; before is nil for a new one, after for one that is gone.
func requestNews(before, after *fleet.ClusterRegistration) []announcement {
	if after == nil {
		return departure(before)
	}
	if before == nil {
		before = &fleet.ClusterRegistration{}
	}
	out := grantNews(before, after)
	out = append(out, credentialNews(before, after)...)
	return append(out, told(approvalNews(before, after))...)
}

// grantNews is about condition Granted.
func grantNews(before, after *fleet.ClusterRegistration) []announcement {
	was, is := grantOf(before), grantOf(after)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	granted := was != nil && was.Status == corev1.ConditionTrue
	switch {
	case is.Status == corev1.ConditionTrue && !granted:
		return []announcement{{
			event: normal(aboutRequest(after), reasonGranted, fmt.Sprintf("Granted as cluster %s: the credential waits for the agent", after.Status.ClusterName)),
			count: count{handshakes, resultGranted},
		}}
	case is.Status != corev1.ConditionFalse || slices.Contains(requestWaits, is.Reason):
		return nil
	}
	return refusalNews(after, is, granted)
}

func grantOf(r *fleet.ClusterRegistration) *genericcondition.GenericCondition {
	return conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionGranted)
}

// refusalNews tells a refusal, a denial, or that a grant was taken back.
func refusalNews(r *fleet.ClusterRegistration, is *genericcondition.GenericCondition, granted bool) []announcement {
	first := announcement{event: warning(aboutRequest(r), is.Reason, "Granted=False: "+is.Message)}
	switch {
	case is.Reason == reasonDenied:
		first.count = count{handshakes, resultDenied}
		if isDenied(r) {
			first.event = event{} // the decision itself is told, and who took it
		}
		return []announcement{first}
	case granted:
		first.count = count{handshakes, resultTakenBack}
		return []announcement{first}
	}
	first.count = count{handshakes, resultRefused}
	out := []announcement{first, {count: count{refusals, known(requestRefusals, is.Reason)}}}
	if is.Reason == reasonIdentityConflict && r.Status.ClusterName != "" {
		about := subject{kind: clusterKind, namespace: r.Namespace, name: r.Status.ClusterName}
		out = append(out, announcement{event: warning(about, is.Reason, fmt.Sprintf(
			"Request %s is refused: somebody asks for this cluster with another key; the agent that is connected is not touched", r.Name))})
	}
	return out
}

// credentialNews is about what became of a grant.
func credentialNews(before, after *fleet.ClusterRegistration) (out []announcement) {
	if isUsed(after) && !isUsed(before) {
		out = append(out, announcement{count: count{handshakes, resultUsed}})
	}
	if is := untaken(after); is != nil && untaken(before) == nil {
		out = append(out, announcement{
			event: warning(aboutRequest(after), is.Reason, "CredentialReady=False: "+is.Message),
			count: count{handshakes, resultExpired},
		})
	}
	return out
}

func isUsed(r *fleet.ClusterRegistration) bool {
	return conditions.IsTrue(r.Status.Conditions, fleet.RegistrationConditionCredentialUsed)
}

// untaken is the condition of a credential that nobody can fetch any more.
func untaken(r *fleet.ClusterRegistration) *genericcondition.GenericCondition {
	c := conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != reasonImportAccountGone {
		return nil
	}
	return c
}

// departure counts a request that goes without ever having been granted or denied.
func departure(r *fleet.ClusterRegistration) []announcement {
	grant := grantOf(r)
	granted := r.Status.Granted || len(r.Status.Credentials) > 0 ||
		conditions.GetCondition(r.Status.Conditions, fleet.RegistrationConditionCredentialReady) != nil
	if granted || grant != nil && grant.Reason == reasonDenied {
		return nil
	}
	return []announcement{{count: count{handshakes, resultAbandoned}}}
}
