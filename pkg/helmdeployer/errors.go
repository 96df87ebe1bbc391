package helmdeployer

import (
	"errors"
	"fmt"
)

// ErrNoRelease says that a release is not recorded on the cluster.
var ErrNoRelease = errors.New("the release is not recorded on the cluster")

// NamespaceForbidden says that the release was deployed, but its namespace could not be given its labels and annotations.
type NamespaceForbidden struct {
	Namespace string
	Err       error
}

func (e *NamespaceForbidden) Error() string {
	return fmt.Sprintf("namespace %s could not be given the labels and annotations of the bundle: %v", e.Namespace, e.Err)
}

func (e *NamespaceForbidden) Unwrap() error { return e.Err }

// IsFinal says whether an error stays until the bundle changes: it goes into the status, and is not tried again.
func IsFinal(err error) bool { return false }
