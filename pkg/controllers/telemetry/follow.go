package telemetry

import (
	"context"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/pkg/kube"
)

// object is a pointer to an object of the API.
type object[T any] interface {
	*T
	metav1.Object
}

// follow tells of the changes of a kind until ctx ends: before is nil for an object that is new, after for one that is
// gone, first says that it was in the first list. tell is called by one goroutine and must not block.
func follow[T any, P object[T]](ctx context.Context, kind kube.Watched, tell func(before, after P, first bool)) {
	informer := kind.Informer()
	registration, err := informer.AddEventHandler(follower[T, P]{tell: tell})
	if err != nil {
		logrus.Errorf("Events and figures of one kind are missing, its informer takes no handler: %v", err)
		return
	}
	context.AfterFunc(ctx, func() {
		if err := informer.RemoveEventHandler(registration); err != nil {
			logrus.Warnf("An informer still tells of changes: %v", err)
		}
	})
}

type follower[T any, P object[T]] struct {
	tell func(before, after P, first bool)
}

// OnAdd is called for the first list too.
func (f follower[T, P]) OnAdd(obj any, first bool) {
	if after, ok := obj.(P); ok {
		f.tell(nil, after, first)
	}
}

// OnUpdate leaves out what did not change. Of an object that was deleted and made anew in a gap of the watch both are told.
func (f follower[T, P]) OnUpdate(was, is any) {
	before, ok1 := was.(P)
	after, ok2 := is.(P)
	switch {
	case !ok1 || !ok2:
	case before.GetUID() != after.GetUID():
		f.tell(before, nil, false)
		f.tell(nil, after, false)
	case before.GetResourceVersion() != after.GetResourceVersion():
		f.tell(before, after, false)
	}
}

// OnDelete is told the last object that was known, also where the watch missed the deletion.
func (f follower[T, P]) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if before, ok := obj.(P); ok {
		f.tell(before, nil, false)
	}
}
