package upgrade

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/pkg/names"
)

// stores hold what the watches have seen.
type stores struct{ deployments, sets, pods cache.Store }

func (s stores) facts(self string, now time.Time) facts {
	f := facts{self: self, now: now, sets: all[*appsv1.ReplicaSet](s.sets), pods: all[*corev1.Pod](s.pods)}
	if found := all[*appsv1.Deployment](s.deployments); len(found) > 0 {
		f.deployment = found[0]
	}
	return f
}

func all[T any](store cache.Store) (out []T) {
	for _, obj := range store.List() {
		if typed, ok := obj.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}

// watch prepares the watches on the agent's own objects: its Deployment by name, the rest by the label of its pods.
func (w *watcher) watch() ([]cache.SharedIndexInformer, error) {
	apps, core := w.Client.AppsV1().RESTClient(), w.Client.CoreV1().RESTClient()
	byName := func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, names.AgentDeployment).String()
	}
	byLabel := func(o *metav1.ListOptions) { o.LabelSelector = names.AgentPodLabelKey + "=" + names.AgentPodLabelValue }
	var out []cache.SharedIndexInformer
	for _, each := range []struct {
		client   rest.Interface
		resource string
		kind     runtime.Object
		only     func(*metav1.ListOptions)
		store    *cache.Store
	}{
		{apps, "deployments", &appsv1.Deployment{}, byName, &w.stores.deployments},
		{apps, "replicasets", &appsv1.ReplicaSet{}, byLabel, &w.stores.sets},
		{core, "pods", &corev1.Pod{}, byLabel, &w.stores.pods},
	} {
		informer := cache.NewSharedIndexInformer(
			cache.NewFilteredListWatchFromClient(each.client, each.resource, w.Namespace, each.only), each.kind, 0, cache.Indexers{})
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { wake(w.changed) },
			UpdateFunc: func(any, any) { wake(w.changed) },
			DeleteFunc: func(any) { wake(w.changed) },
		})
		if err != nil {
			return nil, fmt.Errorf("watching %s in namespace %s: %w", each.resource, w.Namespace, err)
		}
		*each.store = informer.GetStore()
		out = append(out, informer)
	}
	return out, nil
}
