package cleanup

import (
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/generic"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// source is where owners of one kind are looked up.
type source[T generic.RuntimeMetaObject] interface {
	Cache() generic.CacheInterface[T]
	Get(namespace, name string, options metav1.GetOptions) (T, error)
}

// lookup finds an owner: first in the cache, and, unless that answers "it lives", at the API server. An error is no
// answer. It is the zero value if the API server has no object of that name.
func lookup[T generic.RuntimeMetaObject](from source[T], ref names.OwnerRef) (T, error) {
	var none T
	owner, err := from.Cache().Get(ref.Namespace, ref.Name)
	if err == nil && !replaced(ref, owner) {
		return owner, nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return none, fmt.Errorf("looking for %s: %w", ref, err)
	}
	owner, err = from.Get(ref.Namespace, ref.Name, metav1.GetOptions{})
	if provenMissing(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("looking for %s: %w", ref, err)
	}
	return owner, nil
}

// provenMissing tells "there is no such object" from "this kind is not served": the latter is no reason to delete.
func provenMissing(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// gone says whether an owner does not exist any more.
func (h *handler) gone(ref names.OwnerRef) (bool, error) {
	switch ref.Kind {
	case kindCluster:
		return isGone(h.Clusters, ref)
	case kindRegistration:
		return isGone(h.Registrations, ref)
	case kindToken:
		return isGone(h.Tokens, ref)
	}
	return false, nil
}

func isGone[T generic.RuntimeMetaObject](from source[T], ref names.OwnerRef) (bool, error) {
	var none T
	owner, err := lookup(from, ref)
	if err != nil {
		return false, err
	}
	return owner == none || replaced(ref, owner), nil
}
