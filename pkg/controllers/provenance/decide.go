package provenance

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// maxAnswer bounds what of an answer is shown, in characters.
const maxAnswer = 300

// consequence is what follows where there is no proof.
const consequence = "Until then a request that does not prove itself by its key is not granted for a cluster that is bound to a key, or whose agent is connected"

// decide says what an observation proves.
func decide(seen observation) registration.Provenance {
	because := func(reason, format string, args ...any) registration.Provenance {
		return registration.Provenance{Reason: reason, Message: fmt.Sprintf(format, args...) + ". " + consequence}
	}
	switch {
	case seen.failure != nil:
		return because(registration.ProvenanceNotProved, "The hub cannot ask the API server whether policy %s is in force: %s%s. It is tried again",
			names.RegistrationPolicy, registration.Steady(seen.failure.Error(), maxAnswer), wayOut(seen.failure))
	case !seen.served:
		return because(registration.ProvenanceNotServed, "The API server has no ValidatingAdmissionPolicy of version v1, which Kubernetes has from 1.30 on: update it")
	case seen.missing != "":
		return because(registration.ProvenanceNotInstalled, "%s %s does not exist: install the chart fleet again, with admissionPolicies.enabled", seen.missing, names.RegistrationPolicy)
	case seen.answer == nil:
		return because(registration.ProvenanceNotInForce, "Policy %s is there, and let a request through that names another's token: install the chart fleet again, which undoes changes of policy and binding", names.RegistrationPolicy)
	case !refusedByPolicy(seen.answer):
		return because(registration.ProvenanceNotProved, "Policy %s could not be seen at work, as something else has refused the hub's probe: %s%s. It is tried again",
			names.RegistrationPolicy, registration.Steady(seen.answer.Error(), maxAnswer), wayOut(seen.answer))
	}
	return registration.Provenance{Reason: registration.ProvenanceInForce}
}

// refusedByPolicy says whether an answer is the refusal of the policy, which the API server names.
func refusedByPolicy(answer error) bool {
	return apierrors.IsForbidden(answer) && strings.Contains(answer.Error(), fmt.Sprintf("ValidatingAdmissionPolicy '%s'", names.RegistrationPolicy))
}

// wayOut is for what an installation lacks.
func wayOut(err error) string {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return fmt.Sprintf("; the chart fleet makes account %s and its rights, install it again", names.ProbeAccount)
	}
	return ""
}

// patience is how many looks in a row have to fail until that counts: an API server that is away for a moment proves
// nothing either way.
const patience = 4

// countFailures is how many looks in a row the API server did not answer.
func countFailures(before int, seen observation) int {
	if seen.failure == nil || isAnswer(seen.failure) {
		return 0
	}
	return before + 1
}

// doubtful says that what was found may be another thing in a moment: the API server gave no answer, or the policy was
// changed just now and is not taken up yet.
func doubtful(found registration.Provenance, failures int, rhythm pace) bool {
	return failures > 0 && failures < patience || found.Reason == registration.ProvenanceNotInForce && rhythm == afterChange
}

// isAnswer tells what an API server says for good from trouble on the way to it, and in it.
func isAnswer(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsNotFound(err) ||
		apierrors.IsAlreadyExists(err)
}
