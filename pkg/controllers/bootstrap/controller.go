package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rancher/wrangler/v3/pkg/apply"
	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/desired"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

const handlerName = "fleet-bootstrap"

// Deps is what this controller works with.
type Deps struct {
	Clusters   fleetv1.ClusterController
	Groups     fleetv1.ClusterGroupController
	GitRepos   fleetv1.GitRepoController
	Namespaces core.NamespaceController
	Secrets    core.SecretController
	Apply      apply.Apply
	// Clients reads the hub's Deployment and the bootstrap account, neither of which is cached.
	Clients kubernetes.Interface
	// Hub is how the hub reaches its own API server.
	Hub    *rest.Config
	Config *config.Source
	Events record.EventRecorder
	Names  names.Namespaces
	// Disabled is the flag --disable-bootstrap.
	Disabled bool
}

type set interface {
	Apply(ctx context.Context, owner desired.Owner, objs ...runtime.Object) error
}

// handler runs for one key only, and so never twice at once.
type handler struct {
	Deps
	ctx  context.Context
	set  set
	read reader
	// said is what the log and an event have said to be missing.
	said string
}

// Register starts the controller with the factories behind deps. The set has no owner: its objects belong to the hub.
func Register(ctx context.Context, deps Deps) {
	if deps.Disabled {
		return
	}
	h := &handler{Deps: deps, ctx: ctx, read: os.ReadFile}
	h.set = desired.New(deps.Apply, desired.Set{
		ID:    names.SetBootstrap,
		Kinds: []apply.InformerGetter{deps.Clusters, deps.Groups, deps.GitRepos},
	})
	deps.Secrets.OnChange(ctx, handlerName, h.onChange)
	work := kube.Debounced(deps.Secrets, 0)
	kube.Watch(ctx, handlerName+"-kubeconfig", h.kubeconfigChanged, work, deps.Secrets)
	kube.Watch(ctx, handlerName+"-parts", h.partGone, work, deps.Clusters, deps.Groups, deps.GitRepos, deps.Namespaces)
	deps.Config.Subscribe("bootstrap", func(context.Context, config.Config) error {
		work.Enqueue(deps.Names.System, names.BootstrapTokenSecret)
		return nil
	})
}

// work is the key under which all of it is looked at: that of the Secret with the token.
func (h *handler) work() relatedresource.Key {
	return relatedresource.NewKey(h.Names.System, names.BootstrapTokenSecret)
}

func (h *handler) kubeconfigChanged(namespace, name string, _ runtime.Object) ([]relatedresource.Key, error) {
	if name != names.LocalKubeconfigSecret || namespace != h.Config.Get().Bootstrap.Namespace {
		return nil, nil
	}
	return []relatedresource.Key{h.work()}, nil
}

// partGone does not care for changes: the local Cluster changes with everything that its agent does.
func (h *handler) partGone(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	workspace := h.Config.Get().Bootstrap.Namespace
	if obj != nil || workspace == "" {
		return nil, nil
	}
	if namespace == "" && name == workspace || namespace == workspace && isPart(name) {
		return []relatedresource.Key{h.work()}, nil
	}
	return nil, nil
}

func isPart(name string) bool {
	return name == names.LocalCluster || name == names.DefaultClusterGroup || name == names.BootstrapGitRepo
}

func (h *handler) onChange(key string, secret *corev1.Secret) (*corev1.Secret, error) {
	if key != h.work().Namespace+"/"+h.work().Name {
		return secret, nil
	}
	cfg := h.Config.Get()
	if !cfg.BootstrapEnabled() {
		return secret, nil
	}
	in, err := h.observe(cfg.Bootstrap, secret)
	if err != nil {
		return secret, fmt.Errorf("bootstrap of the local cluster: %w", err)
	}
	d, err := decide(in)
	if err != nil {
		return secret, fmt.Errorf("bootstrap of the local cluster: %w", err)
	}
	if err := h.apply(d); err != nil {
		return secret, fmt.Errorf("bootstrap of the local cluster: %w", err)
	}
	return secret, nil
}

func (h *handler) observe(cfg config.Bootstrap, token *corev1.Secret) (input, error) {
	in := input{config: cfg}
	var err error
	if in.server, in.ca, err = address(h.Hub, h.read); err != nil {
		return in, err
	}
	if in.credential, in.missing, err = h.credential(token); err != nil {
		return in, err
	}
	if in.tolerations, err = h.tolerations(); err != nil {
		return in, err
	}
	workspace, err := found(h.Namespaces.Cache().Get(cfg.Namespace))
	if err != nil {
		return in, fmt.Errorf("reading namespace %s: %w", cfg.Namespace, err)
	}
	in.workspace = workspace != nil
	if in.secret, err = found(h.Secrets.Cache().Get(cfg.Namespace, names.LocalKubeconfigSecret)); err != nil {
		return in, fmt.Errorf("reading Secret %s/%s: %w", cfg.Namespace, names.LocalKubeconfigSecret, err)
	}
	return in, nil
}

// credential is the bootstrap account's, or the hub's own where there is no such account.
func (h *handler) credential(token *corev1.Secret) (c credential, missing string, err error) {
	if c = fromSecret(token); !c.empty() {
		return c, "", nil
	}
	_, err = h.Clients.CoreV1().ServiceAccounts(h.Names.System).Get(h.ctx, names.BootstrapAccount, metav1.GetOptions{})
	if err == nil {
		return credential{}, missingToken(h.Names.System, token), nil
	}
	if !apierrors.IsNotFound(err) {
		return credential{}, "", fmt.Errorf("reading ServiceAccount %s/%s: %w", h.Names.System, names.BootstrapAccount, err)
	}
	c, err = own(h.Hub, h.read)
	if errors.Is(err, errNoOwn) {
		return credential{}, fmt.Sprintf("%s. ServiceAccount %s/%s does not exist, and %v", missingToken(h.Names.System, token), h.Names.System, names.BootstrapAccount, err), nil
	}
	return c, "", err
}

// tolerations are those of the hub's pod: where the hub may run, the agent of its cluster may. A hub outside a cluster
// has no Deployment.
func (h *handler) tolerations() ([]corev1.Toleration, error) {
	deployment, err := h.Clients.AppsV1().Deployments(h.Names.System).Get(h.ctx, names.ControllerDeployment, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Deployment %s/%s: %w", h.Names.System, names.ControllerDeployment, err)
	}
	return deployment.Spec.Template.Spec.Tolerations, nil
}

// found turns "not found" into nil.
func found[T any](obj *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}
