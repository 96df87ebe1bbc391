package kube

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// SweepInterval is how often Sweep has everything of a kind looked at.
const SweepInterval = 15 * time.Minute

// Sweep has all objects of a kind looked at once in every interval, each at a time of its own, until the context ends. What
// rests on other kinds is brought right by their events. One may come before that can be found which it concerns, since each
// kind's cache goes at its own pace: this is what ends such a lapse. It costs a look each, and no write where nothing is new.
//
//	kube.Sweep(ctx, kube.SweepInterval, deps.Bundles.Cache().List, deps.Bundles.EnqueueAfter)
func Sweep[T metav1.Object](ctx context.Context, every time.Duration, list func(namespace string, selector labels.Selector) ([]T, error), enqueue func(namespace, name string, d time.Duration)) {
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			all, err := list("", labels.Everything())
			if err != nil {
				logrus.Warnf("What is to be looked at again cannot be listed: %v", err)
				continue
			}
			for _, obj := range all {
				enqueue(obj.GetNamespace(), obj.GetName(), rand.N(every))
			}
		}
	}()
}
