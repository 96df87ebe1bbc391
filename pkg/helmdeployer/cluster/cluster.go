package cluster

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube"
)

// Cluster is the cluster that is deployed to.
type Cluster struct {
	// pool carries the requests of all identities.
	pool   http.RoundTripper
	base   *rest.Config
	served *served

	mu         sync.Mutex
	identities map[string]*Identity
}

// Connect prepares connections; nothing is sent yet.
func Connect(cfg *rest.Config, now func() time.Time) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter = -1, nil
	kube.WithCallTimeout(cfg, kube.CallTimeout)
	pool, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	base := rest.AnonymousClientConfig(cfg)
	// The pool has the trust and the credential: a config for one identity must not set them again.
	base.TLSClientConfig, base.WrapTransport, base.Proxy, base.Dial = rest.TLSClientConfig{}, nil, nil, nil
	base.Transport, base.QPS, base.Timeout = pool, -1, 0
	base.WarningHandler, base.WarningHandlerWithContext = rest.NoWarnings{}, nil
	if base.Host, err = absolute(cfg); err != nil {
		return nil, err
	}
	c := &Cluster{pool: pool, base: base, identities: map[string]*Identity{}}
	self, err := c.As("")
	if err != nil {
		return nil, err
	}
	c.served = newServed(self.Kube.Discovery(), now)
	return c, nil
}

// absolute is the address of the API server with its scheme: without TLS settings client-go would take a bare host for
// plain HTTP.
func absolute(cfg *rest.Config) (string, error) {
	url, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return "", fmt.Errorf("connecting to the cluster: %w", err)
	}
	return url.String(), nil
}

// Identity is on whose behalf something is done.
type Identity struct {
	// User is impersonated; empty means the agent itself.
	User     string
	Config   *rest.Config
	Kube     kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface

	clients *kubernetes.Clientset
	cluster *Cluster
}

// As are the connections on behalf of a user, or of the agent itself if the user is empty.
func (c *Cluster) As(user string) (*Identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.identities[user]; known != nil {
		return known, nil
	}
	cfg := rest.CopyConfig(c.base)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	made := &Identity{User: user, Config: cfg, cluster: c}
	var err error
	if made.clients, err = kubernetes.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	made.Kube = made.clients
	if made.Dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	if made.Metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	c.identities[user] = made
	return made, nil
}

// Namespaced says whether the objects of a kind are in namespaces.
func (c *Cluster) Namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := c.served.mapping(kind)
	if err != nil {
		return false, err
	}
	return isNamespaced(mapping), nil
}

// Discovery is what the API server serves, from the cache that all share.
func (c *Cluster) Discovery() discovery.CachedDiscoveryInterface { return c.served.cache }
