package kube

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ByUID deletes exactly the object that was looked at, and not one that has taken its name since.
func ByUID(uid types.UID) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
}

// Deleted is for the error of a deletion ByUID, and of no other: that the object is not there any more is what was
// wanted. Where another has its name by now, which a cache that lags does not show, the API server says so by a conflict;
// only that conflict counts, any other is an error still.
func Deleted(err error) error {
	if apierrors.IsNotFound(err) || isOtherUID(err) {
		return nil
	}
	return err
}

// isOtherUID knows the conflict by the API server's words for it: it has no reason of its own.
func isOtherUID(err error) bool {
	return apierrors.IsConflict(err) && strings.Contains(err.Error(), "UID in precondition: ")
}
