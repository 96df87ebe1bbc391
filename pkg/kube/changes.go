package kube

import (
	"context"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// WatchChanges is Watch for who has to see what a change was about: changed is given an object as it was, nil for one that
// is new, and as it is, nil for one that is gone. It is not called where nothing changed. What it is given is the cache's.
func WatchChanges[T runtime.Object](ctx context.Context, name string, changed func(before, now T), watched Watched) {
	informer := watched.Informer()
	registration, err := informer.AddEventHandler(changes[T]{changed})
	if err != nil {
		logrus.WithField("watch", name).Errorf("A watch could not be started: %v", err)
		return
	}
	context.AfterFunc(ctx, func() {
		if err := informer.RemoveEventHandler(registration); err != nil {
			logrus.WithField("watch", name).Warnf("A watch could not be ended: %v", err)
		}
	})
}

type changes[T runtime.Object] struct {
	changed func(before, now T)
}

// OnAdd is called for every object of the first list too.
func (c changes[T]) OnAdd(obj any, _ bool) {
	if now, ok := obj.(T); ok {
		var none T
		c.changed(none, now)
	}
}

// OnUpdate leaves out what did not change.
func (c changes[T]) OnUpdate(before, now any) {
	older, ok1 := before.(T)
	newer, ok2 := now.(T)
	if ok1 && ok2 && !sameVersion(before, now) {
		c.changed(older, newer)
	}
}

// OnDelete is told with the last object that was known, also where a broken watch missed the deletion.
func (c changes[T]) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if before, ok := obj.(T); ok {
		var none T
		c.changed(before, none)
	}
}
