package cluster

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// Infos are objects with where they are served. A lenient caller does without those whose kind is surely not served.
func (c *Client) Infos(objects []*unstructured.Unstructured, lenient bool) (kube.ResourceList, error) {
	clients := map[schema.GroupVersion]resource.RESTClient{}
	var infos kube.ResourceList
	for _, object := range objects {
		kind := object.GroupVersionKind()
		mapping, err := c.mapping(kind)
		if meta.IsNoMatchError(err) && lenient && c.identity.cluster.served.absent(kind) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", kind.Kind, object.GetName(), err)
		}
		if err := c.place(object, mapping); err != nil {
			return nil, err
		}
		client := clients[kind.GroupVersion()]
		if client == nil {
			if client, err = c.identity.restClient(kind.GroupVersion()); err != nil {
				return nil, err
			}
			clients[kind.GroupVersion()] = client
		}
		infos = append(infos, &resource.Info{
			Client: client, Mapping: mapping, Namespace: object.GetNamespace(), Name: object.GetName(), Object: object,
			ResourceVersion: object.GetResourceVersion(),
		})
	}
	return infos, nil
}

// mapping is how a kind is served, or will be once its definition is there.
func (c *Client) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	defined, ok := c.defined[kind]
	if !ok {
		return c.identity.cluster.served.mapping(kind)
	}
	scope := meta.RESTScopeRoot
	if defined.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{GroupVersionKind: kind, Resource: defined.Resource, Scope: scope}, nil
}

// place puts an object into its namespace. Hooks come here as they were rendered.
func (c *Client) place(object *unstructured.Unstructured, mapping *meta.RESTMapping) error {
	switch {
	case !isNamespaced(mapping):
		if c.release.Force != "" {
			return &render.ClusterScopedError{Objects: []string{fmt.Sprintf("%s %q", object.GetKind(), object.GetName())}, Namespace: c.release.Force}
		}
		object.SetNamespace("")
	case c.release.Force != "":
		object.SetNamespace(c.release.Force)
	case object.GetNamespace() == "":
		object.SetNamespace(c.release.Namespace)
	}
	return nil
}

func (i *Identity) restClient(version schema.GroupVersion) (resource.RESTClient, error) {
	cfg := rest.CopyConfig(i.Config)
	cfg.ContentConfig = resource.UnstructuredPlusDefaultContentConfig()
	cfg.GroupVersion = &version
	cfg.APIPath = "/apis"
	if version.Group == "" {
		cfg.APIPath = "/api"
	}
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", version, err)
	}
	return client, nil
}
