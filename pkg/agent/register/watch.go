package register

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/pkg/names"
)

// watched are the objects whose change may change a decision.
var watched = []struct {
	resource, name string
	kind           runtime.Object
}{
	{"secrets", names.AgentBootstrapSecret, &corev1.Secret{}},
	{"secrets", names.AgentCredentialStore, &corev1.Secret{}},
	{"configmaps", names.AgentConfigMap, &corev1.ConfigMap{}},
}

// watchChanges calls changed, which must not block, whenever one of the agent's own objects may have changed. It returns
// when the context has ended, and all watches with it. Each watch is on one name in one namespace.
func watchChanges(ctx context.Context, client kubernetes.Interface, namespace string, changed func()) error {
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, w := range watched {
		informer := cache.NewSharedIndexInformer(
			cache.NewListWatchFromClient(client.CoreV1().RESTClient(), w.resource, namespace,
				fields.OneTermEqualSelector(metav1.ObjectNameField, w.name)),
			w.kind, 0, cache.Indexers{})
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching %s %s/%s: %w", w.resource, namespace, w.name, err)
		}
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	<-ctx.Done()
	return nil
}
