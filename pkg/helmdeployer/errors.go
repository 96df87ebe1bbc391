package helmdeployer

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
)

// ErrNoRelease says that a release is not recorded on the cluster.
var ErrNoRelease = history.ErrNotFound

// ErrTaken says that somebody else works on the release: another agent, or a person with Helm. It is tried again.
var ErrTaken = history.ErrTaken

// NamespaceForbidden says that the release was deployed, but its namespace could not be given its labels and annotations.
type NamespaceForbidden struct {
	Namespace string
	Err       error
}

func (e *NamespaceForbidden) Error() string {
	return fmt.Sprintf("namespace %s could not be given the labels and annotations of the bundle: %v", e.Namespace, e.Err)
}

func (e *NamespaceForbidden) Unwrap() error { return e.Err }

// EmptyError says that a bundle which has objects would have none. Whether that is meant cannot be seen from here: nothing
// is removed for it.
type EmptyError struct{ Had int }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("the bundle renders to nothing, and its release has %d objects, which stay: "+
		"to remove them delete the bundle or exclude the cluster (doNotDeploy), otherwise check the values", e.Had)
}

// final are messages of Helm and of the API server that stay the same until the bundle changes.
var final = regexp.MustCompile(`timed out waiting for the condition` +
	`|error validating data` +
	`|chart requires kubeVersion` +
	`|annotation validation error` +
	`|failed, and has been (rolled back|uninstalled) due to atomic being set` +
	`|YAML parse error` +
	`|MalformedYAMLError` +
	`|unknown field` +
	`|Forbidden: updates to \S+ spec for fields other than` +
	`|spec is immutable after creation` +
	`|field is immutable`)

// IsFinal says whether an error stays until the bundle changes: it goes into the status, and is not tried again.
func IsFinal(err error) bool {
	if err == nil || errors.Is(err, ErrTaken) || errors.Is(err, errHalfway) {
		return false
	}
	var late *cluster.TimedOutError
	var large *history.TooLargeError
	var many *history.TooManyError
	return errors.As(err, &late) || errors.As(err, &large) || errors.As(err, &many) || final.MatchString(err.Error())
}
