package hub

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// newTyped is a client of the group's own types.
func newTyped(cfg *rest.Config, pool *http.Client) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := fleet.AddToScheme(scheme); err != nil {
		return nil, err
	}
	metav1.AddToGroupVersion(scheme, fleet.SchemeGroupVersion)
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath = "/apis"
	cfg.GroupVersion = &fleet.SchemeGroupVersion
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(cfg, pool)
}

// ListDeployments lists the BundleDeployments of a namespace, for an informer.
func (c *Client) ListDeployments(ctx context.Context, namespace string, o metav1.ListOptions) (*fleet.BundleDeploymentList, error) {
	list := &fleet.BundleDeploymentList{}
	err := c.typed.Get().Namespace(namespace).Resource(fleet.BundleDeploymentResourceName).
		VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(list)
	return list, err
}

// WatchDeployments watches the BundleDeployments of a namespace, for an informer.
func (c *Client) WatchDeployments(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.typed.Get().Namespace(namespace).Resource(fleet.BundleDeploymentResourceName).
		VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
}

// Deployment reads a BundleDeployment, from the hub and not from a cache.
func (c *Client) Deployment(ctx context.Context, namespace, name string) (*fleet.BundleDeployment, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	found := &fleet.BundleDeployment{}
	err := c.typed.Get().Namespace(namespace).Resource(fleet.BundleDeploymentResourceName).Name(name).Do(ctx).Into(found)
	return found, err
}

// PatchDeploymentStatus merges a patch into the status of a BundleDeployment, and returns what it is then.
func (c *Client) PatchDeploymentStatus(ctx context.Context, namespace, name string, patch []byte) (*fleet.BundleDeployment, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	found := &fleet.BundleDeployment{}
	err := c.typed.Patch(types.MergePatchType).Namespace(namespace).Resource(fleet.BundleDeploymentResourceName).Name(name).
		SubResource("status").Body(patch).Do(ctx).Into(found)
	return found, err
}

// Content reads a Content by its name.
func (c *Client) Content(ctx context.Context, name string) (*fleet.Content, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	found := &fleet.Content{}
	err := c.typed.Get().Resource(fleet.ContentResourceName).Name(name).Do(ctx).Into(found)
	return found, err
}

// ConfigMap reads a ConfigMap by its name.
func (c *Client) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return c.kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Keeps says, with nil, that the hub keeps BundleDeployments in that namespace and will go on doing so: the kind is served
// and not on its way out, and neither is the namespace. Only then does it mean anything that one of them is missing. A
// namespace that the hub does not let this agent read is left out of the question; the agents of another hub may read
// none.
func (c *Client) Keeps(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	if err := c.servesDeployments(ctx); err != nil {
		return err
	}
	_, err := c.Origin(ctx, namespace)
	return err
}

// Origin tells a hub, and one life of a Cluster on it, from all others: it is the UID of the Cluster's namespace there. Empty
// where the hub does not let this agent read that. A namespace that is missing or on its way out is an error.
func (c *Client) Origin(ctx context.Context, namespace string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	found, err := c.kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	switch {
	case AnswerOf(err) == Forbidden:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the hub's namespace %s: %w", namespace, err)
	case found.DeletionTimestamp != nil:
		return "", fmt.Errorf("the hub's namespace %s is being deleted", namespace)
	}
	return string(found.UID), nil
}

// servesDeployments asks for the verb create: a kind whose definition is being deleted still has the others.
func (c *Client) servesDeployments(ctx context.Context) error {
	list := &metav1.APIResourceList{}
	if err := c.kube.Discovery().RESTClient().Get().AbsPath("/apis", fleet.SchemeGroupVersion.Group, fleet.SchemeGroupVersion.Version).
		Do(ctx).Into(list); err != nil {
		return fmt.Errorf("what the hub serves: %w", err)
	}
	serves := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Name == fleet.BundleDeploymentResourceName && slices.Contains(r.Verbs, "create")
	})
	if !serves {
		return fmt.Errorf("the hub does not serve %s, or is about to stop", fleet.BundleDeploymentResourceName)
	}
	return nil
}

// IsGone says that an answer is the API server's own word, about this very object: there is none of that name. A path
// that is not served, or a proxy, answers with 404 too.
func IsGone(err error, resource, name string) bool {
	return AnswerOf(err) == Missing && isAbout(err, resource, name)
}
