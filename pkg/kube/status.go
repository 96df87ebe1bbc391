package kube

import (
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/wrangler/v3/pkg/generic"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// statusTries bounds how often a conflict is answered with a fresh read. More than a handful in a row means that someone
// else writes without pause; the handler's own retry is the better place to wait.
const statusTries = 5

// StatusController is the part of a generated controller that writing a status needs.
type StatusController[T generic.RuntimeMetaObject] interface {
	Cache() generic.CacheInterface[T]
	Get(namespace, name string, options metav1.GetOptions) (T, error)
	UpdateStatus(T) (T, error)
}

// UpdateStatus is the one way in which a status is written. It takes the object from the cache, with what UpdateStatus
// itself wrote since, lets mutate change a copy of the status, and writes only if that made a difference; one object's
// status is written by one caller at a time. On a conflict it reads the object live and lets mutate change
// that one, so mutate must be a function of the status that it is given and of nothing that it changed before. An object
// that is gone, or was made anew meanwhile, is left alone and is no error.
//
//	kube.UpdateStatus(h.clusters, namespace, name, kube.ClusterStatus, func(s *fleet.ClusterStatus) { … })
//
// It returns the object as it is now; the zero value where there is none.
func UpdateStatus[T generic.RuntimeMetaObject, S any](ctl StatusController[T], namespace, name string, status func(T) *S, mutate func(*S)) (T, error) {
	var none T
	var uid types.UID
	var known *writtenStatus
	obj, err := ctl.Cache().Get(namespace, name)
	if err == nil {
		uid = obj.GetUID()
		if key, ok := statusKeyOf(ctl, obj); ok {
			var leave func()
			known, leave = statuses.enter(key)
			defer leave()
			obj, err = ctl.Cache().Get(namespace, name) // the turn may have taken a while to come
		}
	}
	if err == nil {
		obj = latest(known, obj, status)
	}
	for try := 1; ; try++ {
		if apierrors.IsNotFound(err) {
			return none, nil
		}
		if err != nil {
			return none, fmt.Errorf("status of %s/%s: reading it: %w", namespace, name, err)
		}
		if obj.GetUID() != uid {
			return none, nil
		}
		changed, differs := withStatus(obj, status, mutate)
		if !differs {
			return obj, nil
		}
		// What a failed write returns is an empty object, not nil: it must not get out of here.
		updated, err2 := ctl.UpdateStatus(changed)
		switch {
		case err2 == nil:
			note(known, updated, status)
			return updated, nil
		case apierrors.IsNotFound(err2):
			return none, nil
		case !apierrors.IsConflict(err2) || try == statusTries:
			return none, fmt.Errorf("status of %s/%s: writing it (try %d): %w", namespace, name, try, err2)
		}
		if obj, err = ctl.Get(namespace, name, metav1.GetOptions{}); err == nil && obj.GetUID() == uid {
			note(known, obj, status)
		}
	}
}

// withStatus is a copy of obj with the status changed. Objects from a cache are shared and never changed themselves.
func withStatus[T generic.RuntimeMetaObject, S any](obj T, status func(T) *S, mutate func(*S)) (T, bool) {
	changed := obj.DeepCopyObject().(T)
	mutate(status(changed))
	return changed, !equality.Semantic.DeepEqual(status(obj), status(changed))
}

// ClusterStatus is where a Cluster has its status.
func ClusterStatus(c *fleet.Cluster) *fleet.ClusterStatus { return &c.Status }

// ClusterRegistrationStatus is where a ClusterRegistration has its status.
func ClusterRegistrationStatus(r *fleet.ClusterRegistration) *fleet.ClusterRegistrationStatus {
	return &r.Status
}

// ClusterRegistrationTokenStatus is where a ClusterRegistrationToken has its status.
func ClusterRegistrationTokenStatus(t *fleet.ClusterRegistrationToken) *fleet.ClusterRegistrationTokenStatus {
	return &t.Status
}

// ClusterGroupStatus is where a ClusterGroup has its status.
func ClusterGroupStatus(g *fleet.ClusterGroup) *fleet.ClusterGroupStatus { return &g.Status }
