package bundledeployment

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// patience is how many failures in a row of what comes from the hub are not told in the status: objects that belong
// together arrive one after the other.
const patience = 6

// fromHub is trouble with what the hub is to provide, which most often ends by itself.
type fromHub struct{ error }

// Unwrap is the cause.
func (e *fromHub) Unwrap() error { return e.error }

// waits says that a BundleDeployment waits for others. It is told in the status, and the others bring it back.
type waits struct{ reason string }

func (e *waits) Error() string { return e.reason }

// waitsTurn says that a bundle is not begun while too many others wait. It is told in the status, and the end of one of those
// brings it back.
type waitsTurn struct{ reason string }

func (e *waitsTurn) Error() string { return e.reason }

// notTakenOn says that a bundle cannot be deployed as it is. It is told in the status, and is not tried again.
type notTakenOn struct{ reason string }

func (e *notTakenOn) Error() string { return e.reason }

// isQuiet says whether an error is not told in the status, since it ends by itself: an agent that ends breaks off what is
// under way, and the next one takes it up.
func isQuiet(err error, failures int) bool {
	var provided *fromHub
	return apierrors.IsConflict(err) || errors.Is(err, context.Canceled) || errors.As(err, &provided) && failures < patience
}

// isSettled says whether an error is not tried again: something else brings the BundleDeployment back.
func isSettled(err error) bool {
	var waiting *waits
	var later *waitsTurn
	var never *notTakenOn
	return errors.As(err, &waiting) || errors.As(err, &later) || errors.As(err, &never)
}
