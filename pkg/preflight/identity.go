package preflight

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const anonymous = "system:anonymous"

// credentialKind is how an account authenticates.
type credentialKind string

const (
	byToken       credentialKind = "token"
	byCertificate credentialKind = "client certificate"
	byPassword    credentialKind = "user name and password"
	byPlugin      credentialKind = "credential plugin"
	byNothing     credentialKind = ""
)

// decideIdentity judges what the server said to the question who is asking.
func decideIdentity(user string, err error, kind credentialKind, words wording) finding {
	another := words.renew
	switch {
	case err == nil && user == anonymous && kind == byNothing:
		return failure("there is no credential: the server takes the account for "+anonymous, another)
	case err == nil && user == anonymous:
		return failure(fmt.Sprintf("the %s does not arrive: the server takes the account for %s", kind, anonymous),
			"Look whether something between ends the TLS connection or drops the header Authorization, or use a token in place of a client certificate.")
	case err == nil:
		return fine("the server takes the account for " + word(user))
	case apierrors.IsUnauthorized(err):
		return refusedCredential(kind, another)
	case apierrors.IsForbidden(err):
		return doubt("the server knows the credential, but does not let it ask who it is", "Let the group system:authenticated have ClusterRole system:basic-user, as Kubernetes does.")
	case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err):
		return skip("the server is too old to be asked (SelfSubjectReview of authentication.k8s.io/v1)")
	}
	return failure("the server did not say who the account is: "+word(timedOut(err).Error()), "Look at the health of the API server, and at what stands between.")
}

func refusedCredential(kind credentialKind, another string) finding {
	switch kind {
	case byToken:
		return failure("the server refuses the token (401): it has ended, its account is gone, or another cluster made it", another)
	case byCertificate:
		return failure("the server refuses the client certificate (401): another authority issued it, or it has ended", another)
	case byPlugin:
		return failure("the server refuses the credential of the plugin (401)", another)
	case byPassword:
		return failure("the server refuses user name and password (401), as all present API servers do", another)
	}
	return failure("the server asks for a credential (401), and there is none", another)
}
