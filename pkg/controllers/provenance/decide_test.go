package provenance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/fleet/pkg/registration"
)

var requests = schema.GroupResource{Group: "fleet.cattle.io", Resource: "clusterregistrations"}

func forbidden(why string) error {
	return apierrors.NewForbidden(requests, "request-provenance-probe", errors.New(why))
}

// refusal is the policy's, as the API server words it.
func refusal() error {
	return forbidden("ValidatingAdmissionPolicy 'fleet-registration' with binding 'fleet-registration' denied request: label fleet.cattle.io/registration-token names token provenance-probe")
}

func TestOnlyThePolicysOwnRefusalProvesThatItIsInForce(t *testing.T) {
	invalid := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Message: "ValidatingAdmissionPolicy 'fleet-registration' with binding 'fleet-registration' denied request: expression resulted in error"}}
	noAccount := fmt.Errorf("requesting a token: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, "fleet-provenance-probe"))
	for name, test := range map[string]struct {
		seen   observation
		reason string
		says   []string
	}{
		"refused by the policy": {observation{served: true, answer: refusal()}, registration.ProvenanceInForce, nil},
		"no such kind":          {observation{}, registration.ProvenanceNotServed, []string{"1.30", "update it"}},
		"no policy":             {observation{served: true, missing: "ValidatingAdmissionPolicy"}, registration.ProvenanceNotInstalled, []string{"ValidatingAdmissionPolicy fleet-registration does not exist", "admissionPolicies.enabled"}},
		"no binding":            {observation{served: true, missing: "ValidatingAdmissionPolicyBinding"}, registration.ProvenanceNotInstalled, []string{"ValidatingAdmissionPolicyBinding fleet-registration does not exist"}},
		"let through":           {observation{served: true}, registration.ProvenanceNotInForce, []string{"let a request through", "install the chart fleet again"}},
		"another policy":        {observation{served: true, answer: forbidden("ValidatingAdmissionPolicy 'fleet-registration-2' with binding 'x' denied request")}, registration.ProvenanceNotProved, []string{"something else"}},
		"no right to ask":       {observation{served: true, answer: forbidden(`User "x" cannot create resource`)}, registration.ProvenanceNotProved, []string{"cannot create resource", "fleet-provenance-probe"}},
		"a policy that fails":   {observation{served: true, answer: invalid}, registration.ProvenanceNotProved, []string{"resulted in error"}},
		"no account":            {observation{served: true, failure: noAccount}, registration.ProvenanceNotProved, []string{"the chart fleet makes account fleet-provenance-probe"}},
		"nobody answers":        {observation{served: true, failure: errors.New("connection refused")}, registration.ProvenanceNotProved, []string{"connection refused", "tried again"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := decide(test.seen)
			assert.Equal(t, test.reason, found.Reason)
			for _, part := range test.says {
				assert.Contains(t, found.Message, part)
			}
			if found.Enforced() {
				assert.Empty(t, found.Message)
			} else {
				assert.Contains(t, found.Message, "not granted for a cluster that is bound to a key")
			}
		})
	}
}

func TestTroubleOfAMomentProvesNothingEitherWay(t *testing.T) {
	away := observation{failure: errors.New("connection refused")}
	found, failures := decide(away), 0
	for range patience - 1 {
		failures = countFailures(failures, away)
		assert.True(t, doubtful(found, failures, pace{}))
	}
	failures = countFailures(failures, away)
	assert.False(t, doubtful(found, failures, pace{}), "that is no moment any more")
	assert.Zero(t, countFailures(failures, observation{served: true, answer: refusal()}))
	assert.Zero(t, countFailures(failures, observation{served: true, failure: forbidden("no")}), "that is an answer")
}

func TestAPolicyThatWasChangedJustNowMayTakeAMoment(t *testing.T) {
	let := registration.Provenance{Reason: registration.ProvenanceNotInForce}
	assert.True(t, doubtful(let, 0, afterChange))
	_, second := afterChange.next(false)
	assert.False(t, doubtful(let, 0, second))
	assert.False(t, doubtful(let, 0, pace{}), "nothing was changed")
	assert.False(t, doubtful(registration.Provenance{Reason: registration.ProvenanceNotInstalled}, 0, afterChange), "what is gone is gone")
}
