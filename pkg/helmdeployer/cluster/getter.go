package cluster

import (
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/validation"
)

// Getter hands Helm's actions the connections of an identity: what a template looks up is looked up on its behalf.
type Getter struct{ identity *Identity }

// Getter is for Helm's actions.
func (i *Identity) Getter() Getter { return Getter{identity: i} }

// ToRESTConfig is the identity's config.
func (g Getter) ToRESTConfig() (*rest.Config, error) {
	return rest.CopyConfig(g.identity.Config), nil
}

// ToDiscoveryClient is the cache that all identities share.
func (g Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return g.identity.cluster.served.cache, nil
}

// ToRESTMapper is over the same cache.
func (g Getter) ToRESTMapper() (meta.RESTMapper, error) {
	return g.identity.cluster.served.mapper, nil
}

// factory is for Helm's kube client. The embedded interface has what that client asks for only if it has no namespace of
// its own; ours always has one.
type factory struct {
	kube.Factory
	identity *Identity
}

func (f factory) KubernetesClientSet() (*kubernetes.Clientset, error) { return f.identity.clients, nil }

func (f factory) DynamicClient() (dynamic.Interface, error) { return f.identity.Dynamic, nil }

func (f factory) NewBuilder() *resource.Builder { return resource.NewBuilder(f.identity.Getter()) }

// Validator does nothing: the API server validates.
func (f factory) Validator(string) (validation.Schema, error) { return validation.NullSchema{}, nil }
