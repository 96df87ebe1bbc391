package hub

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
)

// CallTimeout ends a call that gets no answer.
const CallTimeout = 15 * time.Second

var (
	registrations     = fleet.SchemeGroupVersion.WithResource(fleet.ClusterRegistrationResourceName)
	clusters          = fleet.SchemeGroupVersion.WithResource(fleet.ClusterResourceName)
	bundleDeployments = fleet.SchemeGroupVersion.WithResource(fleet.BundleDeploymentResourceName)
)

// Client makes an agent's calls with one credential.
type Client struct {
	kube  kubernetes.Interface
	fleet dynamic.Interface
	// typed reads and writes objects of the group without a detour, which counts where there are many.
	typed rest.Interface
	close func()
}

// Check says whether a client can be made: whether the kubeconfig can be read, and whether its CA and the TLS mode go
// together. It calls nobody.
func Check(kubeconfig []byte, tlsMode string) error {
	_, err := kube.UpstreamConfig(kubeconfig, tlsMode, CallTimeout)
	return err
}

// Dial makes a client with a connection pool of its own. It calls nobody. Close it after use.
func Dial(kubeconfig []byte, tlsMode, userAgent string) (*Client, error) {
	cfg, err := kube.UpstreamConfig(kubeconfig, tlsMode, CallTimeout)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = userAgent
	// The workers bound what is asked, and the hub's priority and fairness decides.
	cfg.QPS = -1
	pool, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connection to the hub: %w", err)
	}
	core, err := kubernetes.NewForConfigAndClient(cfg, pool)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	kinds, err := dynamic.NewForConfigAndClient(cfg, pool)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	typed, err := newTyped(cfg, pool)
	if err != nil {
		return nil, fmt.Errorf("client of the hub: %w", err)
	}
	return &Client{kube: core, fleet: kinds, typed: typed, close: func() { utilnet.CloseIdleConnectionsFor(pool.Transport) }}, nil
}

// Close frees the connections that are not in use.
func (c *Client) Close() { c.close() }

// CreateRequest asks the hub for a registration.
func (c *Client) CreateRequest(ctx context.Context, req *fleet.ClusterRegistration) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(req)
	if err != nil {
		return fmt.Errorf("encoding registration request %s: %w", req.Name, err)
	}
	// The status is the hub's to write.
	delete(content, "status")
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("ClusterRegistration"))
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	_, err = c.fleet.Resource(registrations).Namespace(req.Namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// Request reads a registration request by its name.
func (c *Client) Request(ctx context.Context, namespace, name string) (*fleet.ClusterRegistration, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	object, err := c.fleet.Resource(registrations).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var req fleet.ClusterRegistration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &req); err != nil {
		return nil, fmt.Errorf("registration request %s/%s cannot be read: %w", namespace, name, err)
	}
	return &req, nil
}

// Secret reads a Secret by its name.
func (c *Client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return c.kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// Test lists what an agent's credential must be able to list.
func (c *Client) Test(ctx context.Context, deploymentNamespace string) error {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	_, err := c.fleet.Resource(bundleDeployments).Namespace(deploymentNamespace).List(ctx, metav1.ListOptions{Limit: 1})
	return err
}
