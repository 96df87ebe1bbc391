package hub

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Answer is what a call came to.
type Answer string

// Answers. What a proxy or a load balancer says in the hub's place is Unreachable, 401 apart: whoever checks the token
// says that.
const (
	OK           Answer = "ok"
	Unauthorized Answer = "unauthorized"
	Forbidden    Answer = "forbidden"
	Missing      Answer = "missing"
	Exists       Answer = "exists"
	Conflict     Answer = "conflict"
	// Rejected is every other answer that the same call would get again.
	Rejected Answer = "rejected"
	// Unreachable is no answer, or one that says nothing of the credential: the network, TLS, an overloaded hub.
	Unreachable Answer = "unreachable"
)

// AnswerOf says what the error of a call means, nil being OK.
func AnswerOf(err error) Answer {
	switch {
	case err == nil:
		return OK
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return Unreachable
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsNotFound(err):
		return Missing
	case apierrors.IsAlreadyExists(err):
		return Exists
	case apierrors.IsConflict(err):
		return Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err):
		return Rejected
	}
	return Unreachable
}

// isAbout says whether the details of an answer name that object.
func isAbout(err error, resource, name string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == resource && details.Group == fleet.SchemeGroupVersion.Group && details.Name == name
}
