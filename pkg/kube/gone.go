package kube

import (
	"errors"
	"strings"

	"github.com/rancher/wrangler/v3/pkg/merr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IgnoreGone takes out of an error of the apply engine what only says that an object that had to be deleted was gone
// already. That happens whenever the cache is a moment behind, and is what was wanted.
func IgnoreGone(err error) error {
	var many merr.Errors
	if !errors.As(err, &many) {
		if deletedAlready(err) {
			return nil
		}
		return err
	}
	var rest []error
	for _, one := range many {
		if !deletedAlready(one) {
			rest = append(rest, one)
		}
	}
	return merr.NewErrors(rest...)
}

// deletedAlready knows a failed delete by the engine's words for it: a NotFound of a patch or of a create (whose
// namespace is missing) is a real failure.
func deletedAlready(err error) bool {
	return err != nil && apierrors.IsNotFound(err) && strings.HasPrefix(err.Error(), "failed to delete ")
}
