package drift

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// pageSize bounds what a list holds in memory at once.
	pageSize = 100
	// relearn is how often at most the server is asked anew which kinds it serves.
	relearn = 5 * time.Second
)

// Cluster is what is asked of the API server. Connect makes one.
type Cluster interface {
	// Namespaced is the scope of a kind.
	Namespaced(kind schema.GroupVersionKind) bool
	// Watch lists and watches the metadata of all objects of a kind that belong to bundles.
	Watch(kind schema.GroupKind) (cache.ListerWatcher, error)
	// Get reads an object. It is nil if there is none, or no such kind.
	Get(ctx context.Context, kind schema.GroupVersionKind, key Key) (*unstructured.Unstructured, error)
	// List reads the objects of a bundle of one kind and namespace.
	List(ctx context.Context, kind schema.GroupVersionKind, namespace, hash string, each func(*unstructured.Unstructured)) error
	// Try says what a patch would make of an object, and changes nothing.
	Try(ctx context.Context, kind schema.GroupVersionKind, key Key, patch types.PatchType, data []byte) (*unstructured.Unstructured, error)
}

type cluster struct {
	metadata metadata.Interface
	dynamic  dynamic.Interface
	mapper   meta.RESTMapper

	lock    sync.Mutex
	learned time.Time
	// known are the kinds that were found once. They stay known when discovery fails: a kind that cannot be asked for
	// now is not one without objects.
	known map[schema.GroupVersionKind]*meta.RESTMapping
}

// Connect asks the API server of cfg, with the agent's own identity. The mapper knows the kinds; it is reset, where it can
// be, when a kind is unknown to it. It calls nobody.
func Connect(cfg *rest.Config, mapper meta.RESTMapper) (Cluster, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connection to the cluster: %w", err)
	}
	of, err := metadata.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	whole, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	return &cluster{metadata: of, dynamic: whole, mapper: mapper, known: map[schema.GroupVersionKind]*meta.RESTMapping{}}, nil
}

// mapping finds the resource of a kind; where it is unknown, once more after the server was asked anew.
func (c *cluster) mapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := c.mapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) || !c.relearn() {
		return found, err
	}
	return c.mapper.RESTMapping(kind, versions...)
}

// of is the mapping of a kind and version.
func (c *cluster) of(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	c.lock.Lock()
	found := c.known[kind]
	c.lock.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := c.mapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.known[kind] = found
	return found, nil
}

func (c *cluster) relearn() bool {
	resettable, ok := c.mapper.(meta.ResettableRESTMapper)
	if !ok {
		return false
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if now := time.Now(); now.Sub(c.learned) >= relearn {
		c.learned = now
		resettable.Reset()
		return true
	}
	return false
}

func (c *cluster) Namespaced(kind schema.GroupVersionKind) bool {
	found, err := c.of(kind)
	return err != nil || found.Scope.Name() == meta.RESTScopeNameNamespace
}

func (c *cluster) Watch(kind schema.GroupKind) (cache.ListerWatcher, error) {
	found, err := c.mapping(kind)
	if err != nil {
		return nil, fmt.Errorf("kind %s: %w", kind, err)
	}
	objects := c.metadata.Resource(found.Resource)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = HashLabel
			return objects.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = HashLabel
			return objects.Watch(ctx, options)
		},
	}, c.metadata), nil
}

// resource is where objects of a kind are, nil if the kind is not served.
func (c *cluster) resource(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	found, err := c.of(kind)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("kind %s: %w", kind, err)
	}
	if found.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(found.Resource).Namespace(namespace), nil
	}
	return c.dynamic.Resource(found.Resource), nil
}

func (c *cluster) Get(ctx context.Context, kind schema.GroupVersionKind, key Key) (*unstructured.Unstructured, error) {
	objects, err := c.resource(kind, key.Namespace)
	if objects == nil || err != nil {
		return nil, err
	}
	obj, err := objects.Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) { // such as a review, which is answered and not kept
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", key.Kind, key.Namespace, key.Name, err)
	}
	return obj, nil
}

func (c *cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace, hash string, each func(*unstructured.Unstructured)) error {
	objects, err := c.resource(kind, namespace)
	if objects == nil || err != nil {
		return err
	}
	options := metav1.ListOptions{LabelSelector: HashLabel + "=" + hash, Limit: pageSize}
	for {
		page, err := objects.List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %s in namespace %q: %w", kind.Kind, namespace, err)
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (c *cluster) Try(
	ctx context.Context, kind schema.GroupVersionKind, key Key, patch types.PatchType, data []byte,
) (*unstructured.Unstructured, error) {
	objects, err := c.resource(kind, key.Namespace)
	if err != nil {
		return nil, err
	}
	if objects == nil {
		return nil, fmt.Errorf("kind %s is not served", kind)
	}
	return objects.Patch(ctx, key.Name, patch, data, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}
