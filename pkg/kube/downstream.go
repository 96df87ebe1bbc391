package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/rancher/wrangler/v3/pkg/gvk"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Downstream is a client of a cluster that is not ours. It caches nothing and leaves no goroutine behind.
type Downstream struct {
	Config  *rest.Config
	Clients kubernetes.Interface
	Dynamic dynamic.Interface

	discovery discovery.DiscoveryInterface
	http      *http.Client
}

// NewDownstream makes the clients for a config from DownstreamConfig; nothing is sent yet. Close it when done.
func NewDownstream(cfg *rest.Config) (*Downstream, error) {
	cfg = rest.CopyConfig(cfg)
	unlimited(cfg)
	pool, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("downstream client: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(cfg, pool)
	if err != nil {
		return nil, fmt.Errorf("downstream client: %w", err)
	}
	dyn, err := dynamic.NewForConfigAndClient(cfg, pool)
	if err != nil {
		return nil, fmt.Errorf("downstream client: %w", err)
	}
	return &Downstream{Config: cfg, Clients: clients, Dynamic: dyn, discovery: clients.Discovery(), http: pool}, nil
}

// ApplySet makes the objects exist as given, as a set that is known by its ID alone: the hash label of its objects is that
// of a bundle with the same set ID, which therefore takes them over. Every object's kind must be in kinds. An object that
// is no longer wanted is removed only from the namespaces that objects of its kind are still given for; a Namespace is
// never removed. Secrets with data are refused: the engine keeps the first bytes of every value in an annotation.
func (d *Downstream) ApplySet(ctx context.Context, setID string, kinds []schema.GroupVersionKind, objs ...runtime.Object) error {
	if setID == "" || len(objs) == 0 {
		return errors.New("apply set: it needs an ID and at least one object")
	}
	for _, obj := range objs {
		kind, err := gvk.Get(obj)
		if err != nil {
			return fmt.Errorf("apply set %s: %w", setID, err)
		}
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("apply set %s: kind %s is not among the declared kinds and would never be removed again: declare it", setID, kind)
		}
		if err := RefuseSecret(obj); err != nil {
			return fmt.Errorf("apply set %s: %w", setID, err)
		}
	}
	err := NewApply(d.discovery, d.Dynamic).
		WithContext(ctx).
		WithSetID(setID).
		WithDynamicLookup().
		WithGVK(kinds...).
		WithNoDeleteGVK(corev1.SchemeGroupVersion.WithKind("Namespace")).
		ApplyObjects(objs...)
	if err = IgnoreGone(err); err != nil {
		return fmt.Errorf("apply set %s: %w", setID, err)
	}
	return nil
}

// Close ends the connections that are idle. The clients still work, and open new ones.
func (d *Downstream) Close() {
	utilnet.CloseIdleConnectionsFor(d.http.Transport)
}
