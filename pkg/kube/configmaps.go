package kube

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// notRootCA leaves out the ConfigMap that every namespace has.
const notRootCA = "metadata.name!=kube-root-ca.crt"

// ConfigMaps reads ConfigMaps of the few namespaces whose bundles copy some. The hub's own cache has those of its system
// namespace alone: all of them would be many, and large. A namespace is followed from the first question on.
type ConfigMaps struct {
	ctx     context.Context
	clients kubernetes.Interface

	lock     sync.Mutex
	followed map[string]followed
	changed  []func(namespace, name string)
}

type followed struct {
	lister listers.ConfigMapNamespaceLister
	synced cache.InformerSynced
}

// NewConfigMaps follows nothing yet; ctx ends all that it will follow.
func NewConfigMaps(ctx context.Context, clients kubernetes.Interface) *ConfigMaps {
	return &ConfigMaps{ctx: ctx, clients: clients, followed: map[string]followed{}}
}

// OnChange has changed called with the name of each ConfigMap that is created, changed or deleted in a namespace that is
// followed. It is called before the first question.
func (c *ConfigMaps) OnChange(_ context.Context, changed func(namespace, name string)) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.changed = append(c.changed, changed)
}

// Get is a ConfigMap, which is the cache's. While the cache is not filled yet the API server is asked.
func (c *ConfigMaps) Get(namespace, name string) (*corev1.ConfigMap, error) {
	f := c.follow(namespace)
	if f.synced() {
		return f.lister.Get(name)
	}
	ctx, cancel := context.WithTimeout(c.ctx, CallTimeout)
	defer cancel()
	return c.clients.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (c *ConfigMaps) follow(namespace string) followed {
	c.lock.Lock()
	defer c.lock.Unlock()
	if f, ok := c.followed[namespace]; ok {
		return f
	}
	factory := informers.NewSharedInformerFactoryWithOptions(c.clients, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = notRootCA }),
		informers.WithTransform(slimmed))
	maps := factory.Core().V1().ConfigMaps()
	f := followed{lister: maps.Lister().ConfigMaps(namespace), synced: maps.Informer().HasSynced}
	tell := c.changed
	registration, err := maps.Informer().AddEventHandler(changes[*corev1.ConfigMap]{func(before, now *corev1.ConfigMap) {
		if now == nil {
			now = before
		}
		for _, changed := range tell {
			changed(now.Namespace, now.Name)
		}
	}})
	if err == nil {
		f.synced = registration.HasSynced
	}
	c.followed[namespace] = f
	factory.Start(c.ctx.Done())
	return f
}
