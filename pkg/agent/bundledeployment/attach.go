package bundledeployment

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/pkg/agent/hub"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// attached is a session whose BundleDeployments are known.
type attached struct {
	Session
	store cache.Store
}

// get is a BundleDeployment as the cache has it, nil if it has none. It must not be changed.
func (a *attached) get(name string) *fleet.BundleDeployment {
	found, exists, err := a.store.GetByKey(a.Namespace + "/" + name)
	if err != nil || !exists {
		return nil
	}
	bd, _ := found.(*fleet.BundleDeployment)
	return bd
}

// all are the BundleDeployments that the cache has. They must not be changed.
func (a *attached) all() []*fleet.BundleDeployment {
	var out []*fleet.BundleDeployment
	for _, found := range a.store.List() {
		if bd, ok := found.(*fleet.BundleDeployment); ok {
			out = append(out, bd)
		}
	}
	return out
}

// Attach works with a session until the context ends. What is under way then goes on, and is taken up by the next session.
func (r *Reconciler) Attach(ctx context.Context, session Session) {
	a := &attached{Session: session}
	informer := cache.NewSharedIndexInformerWithOptions(r.source(a), &fleet.BundleDeployment{}, cache.SharedIndexInformerOptions{})
	a.store = informer.GetStore()
	err := informer.SetTransform(lighten)
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(watchFailed(session))
	}
	if err == nil {
		_, err = informer.AddEventHandler(r.events())
	}
	if err != nil {
		logrus.Errorf("BundleDeployments cannot be watched: %v", err) // of an informer that runs already, which this one does not
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		r.use(a)
		r.compare(a, 0)
		<-ctx.Done()
	}
	r.leave(a)
	<-stopped
}

// compare has all looked at over a while, what the hub has and what is deployed.
func (r *Reconciler) compare(a *attached, spread time.Duration) {
	for _, bd := range a.all() {
		r.queue.AddAfter(bd.Name, time.Duration(float64(spread)*r.Random()))
	}
	if r.Synced != nil {
		r.Synced()
	}
}

// source lists and watches the BundleDeployments of a session. After each interruption everything is compared.
func (r *Reconciler) source(a *attached) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return a.ListDeployments(ctx, a.Namespace, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := a.WatchDeployments(ctx, a.Namespace, o)
			if err == nil && r.session() == a {
				r.compare(a, r.Pace.Spread)
			}
			return w, err
		},
	}
}

// watchFailed tells of a credential that is refused. The informer tries again by itself, more and more slowly.
func watchFailed(session Session) cache.WatchErrorHandlerWithContext {
	return func(_ context.Context, _ *cache.Reflector, err error) {
		if hub.AnswerOf(err) == hub.Unauthorized && session.Refused != nil {
			session.Refused()
		}
		logrus.Debugf("The watch of the BundleDeployments in %s was interrupted: %v", session.Namespace, err)
	}
}

// lighten takes out of the cache what nobody reads.
func lighten(obj any) (any, error) {
	if bd, ok := obj.(*fleet.BundleDeployment); ok {
		bd.ManagedFields = nil
		bd.Spec.StagedOptions = fleet.BundleDeploymentOptions{}
	}
	return obj, nil
}

func (r *Reconciler) events() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if bd, ok := obj.(*fleet.BundleDeployment); ok {
				r.changed(bd)
			}
		},
		UpdateFunc: func(before, now any) {
			old, _ := before.(*fleet.BundleDeployment)
			bd, ok := now.(*fleet.BundleDeployment)
			if !ok {
				return
			}
			if old == nil || isAnother(old, bd) || r.memory.isNews(old, bd) {
				r.changed(bd)
				return
			}
			r.wake(bd)
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if bd, ok := obj.(*fleet.BundleDeployment); ok {
				r.changed(bd)
			}
		},
	}
}

// changed has a BundleDeployment looked at without the pause that its last failure may have brought.
func (r *Reconciler) changed(bd *fleet.BundleDeployment) {
	r.queue.Forget(bd.Name)
	r.queue.Add(bd.Name)
	r.wake(bd)
}

// wake has those looked at that wait for a BundleDeployment which has changed.
func (r *Reconciler) wake(bd *fleet.BundleDeployment) {
	for _, name := range r.waiting.on(bd) {
		r.queue.Forget(name)
		r.queue.Add(name)
	}
}

// isAnother says whether a BundleDeployment asks for something else than before.
func isAnother(before, now *fleet.BundleDeployment) bool {
	return before.UID != now.UID || before.Generation != now.Generation ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(before.Labels, now.Labels) || !equality.Semantic.DeepEqual(before.Annotations, now.Annotations)
}
