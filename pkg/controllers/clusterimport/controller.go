package clusterimport

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	fleetv1 "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	handlerName      = "fleet-import"
	clustersBySecret = "fleet.import.clusters-by-secret"
	// workers is how many foreign clusters are called at the same time.
	workers = 50
	// callTimeout bounds each call to a foreign cluster.
	callTimeout = 15 * time.Second
	retryFirst  = 2 * time.Second
	retryLast   = 10 * time.Minute
	// importTokenTTL is how long an agent may take to use what it was given.
	importTokenTTL = 12 * time.Hour
)

// Deps is what this controller works with.
type Deps struct {
	Clusters fleetv1.ClusterController
	Tokens   fleetv1.ClusterRegistrationTokenController
	Bundles  fleetv1.BundleClient
	Secrets  core.SecretController
	Accounts core.ServiceAccountController
	Clients  kubernetes.Interface
	Config   *config.Source
	// Settings are those of all agents, from configuration and environment.
	Settings func(config.Config) agentmanifest.Settings
	Names    names.Namespaces
	Clock    clock.PassiveClock
	// HubUID is the UID of the hub's kube-system namespace.
	HubUID string
}

type handler struct {
	Deps
	queue *kube.Queue

	mu sync.Mutex
	// seen is, for each cluster, what the last look rested on: only a change of that feeds the queue.
	seen map[string]string

	written written
}

// Register starts the controller with the factories behind deps. The returned function works on foreign clusters until
// its context ends.
func Register(ctx context.Context, deps Deps) func(context.Context) {
	h := &handler{Deps: deps, seen: map[string]string{}, written: written{versions: map[string]string{}}}
	h.queue = kube.NewQueue(handlerName, workers, retryFirst, retryLast, h.work)
	deps.Clusters.Cache().AddIndexer(clustersBySecret, func(c *fleet.Cluster) ([]string, error) {
		if c.Spec.KubeConfigSecret == "" {
			return nil, nil
		}
		return []string{secretNamespace(c) + "/" + c.Spec.KubeConfigSecret}, nil
	})
	deps.Clusters.OnChange(ctx, handlerName, h.onChange)
	now := kube.Debounced(deps.Clusters, 0)
	relatedresource.Watch(ctx, handlerName+"-secrets", h.clustersOfSecret, now, deps.Secrets)
	relatedresource.Watch(ctx, handlerName+"-tokens", clusterOfToken, now, deps.Tokens)
	relatedresource.Watch(ctx, handlerName+"-accounts", h.clusterOfAccount, now, deps.Accounts)
	deps.Config.Subscribe(handlerName, h.onConfig)
	return h.queue.Run
}

func secretNamespace(c *fleet.Cluster) string {
	if c.Spec.KubeConfigSecretNamespace != "" {
		return c.Spec.KubeConfigSecretNamespace
	}
	return c.Namespace
}

// clustersOfSecret finds the clusters that a kubeconfig secret is for, and the one whose token's values it holds.
func (h *handler) clustersOfSecret(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	clusters, err := h.Clusters.Cache().GetByIndex(clustersBySecret, namespace+"/"+name)
	keys := make([]relatedresource.Key, 0, len(clusters)+1)
	for _, c := range clusters {
		keys = append(keys, relatedresource.NewKey(c.Namespace, c.Name))
	}
	if secret, ok := obj.(*corev1.Secret); ok && secret.Type == names.ValuesSecretType && strings.HasPrefix(name, importPrefix) {
		token, tokenErr := h.Tokens.Cache().Get(namespace, name)
		if tokenErr == nil {
			more, _ := clusterOfToken(namespace, name, token)
			keys = append(keys, more...)
		}
	}
	return keys, err
}

const importPrefix = "import-token-"

func clusterOfToken(namespace, name string, obj runtime.Object) ([]relatedresource.Key, error) {
	token, ok := obj.(*fleet.ClusterRegistrationToken)
	if !ok || !strings.HasPrefix(name, importPrefix) {
		return nil, nil
	}
	for _, ref := range token.OwnerReferences {
		if ref.Kind == "Cluster" {
			return []relatedresource.Key{{Namespace: namespace, Name: ref.Name}}, nil
		}
	}
	return nil, nil
}

// clusterOfAccount finds the cluster that an import account is for: when the account goes before the agent registered,
// the agent needs another.
func (h *handler) clusterOfAccount(namespace, _ string, obj runtime.Object) ([]relatedresource.Key, error) {
	account, ok := obj.(*corev1.ServiceAccount)
	if !ok || namespace != h.Names.Registration {
		return nil, nil
	}
	owner, ok := names.ParseOwnerRef(account.Annotations[names.OwnerAnnotation])
	if !ok || !strings.HasPrefix(owner.Name, importPrefix) {
		return nil, nil
	}
	token, err := h.Tokens.Cache().Get(owner.Namespace, owner.Name)
	if err != nil {
		return nil, nil //nolint:nilerr // a token that is gone is found by its own event
	}
	return clusterOfToken(owner.Namespace, owner.Name, token)
}

// onConfig has every cluster looked at again. Whether anything is to be done is decided for each on its own.
func (h *handler) onConfig(context.Context, config.Config) error {
	clusters, err := h.Clusters.Cache().List("", labels.Everything())
	if err != nil {
		return fmt.Errorf("listing clusters: %w", err)
	}
	for _, c := range clusters {
		if c.Spec.KubeConfigSecret != "" {
			h.Clusters.EnqueueAfter(c.Namespace, c.Name, 0)
		}
	}
	return nil
}

func (h *handler) onChange(key string, cluster *fleet.Cluster) (*fleet.Cluster, error) {
	if cluster == nil || cluster.DeletionTimestamp != nil {
		h.forget(key)
		return cluster, nil
	}
	f, err := h.observe(cluster)
	if err != nil {
		return cluster, fmt.Errorf("cluster %s: %w", key, err)
	}
	if h.changed(key, f) {
		h.queue.Forget(key)
		h.queue.Add(key)
	}
	return cluster, nil
}

func (h *handler) forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.seen, key)
	h.written.forget(key)
	h.queue.Forget(key)
}

// changed compares what a decision rests on with what the last one did. A failed import writes a condition, which is a
// change of the Cluster, but none that makes another try worth while before its time.
func (h *handler) changed(key string, f facts) bool {
	now := fingerprint(f, h.tokenVersion(f.cluster))
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[key] == now {
		return false
	}
	h.seen[key] = now
	return true
}

// tokenVersion changes with the import token of a cluster and with its values.
func (h *handler) tokenVersion(c *fleet.Cluster) string {
	name := names.ImportToken(c.Name)
	token, err := h.Tokens.Cache().Get(c.Namespace, name)
	if err != nil {
		return ""
	}
	secret, err := h.Secrets.Cache().Get(c.Namespace, name)
	if err != nil {
		return string(token.UID)
	}
	return string(token.UID) + "/" + secret.ResourceVersion
}

func (h *handler) observe(cluster *fleet.Cluster) (facts, error) {
	cfg := h.Config.Get()
	f := facts{
		cluster: cluster, config: cfg, namespaces: h.Names, now: h.Clock.Now(),
		secretNamespace: secretNamespace(cluster),
		imported:        cluster.Status.AgentDeployedGeneration != nil,
	}
	f.record, _ = registration.ImportOf(cluster.Annotations)
	f.options, _, f.optionsError = agentmanifest.Effective(cluster, h.Settings(cfg))
	if cluster.Spec.KubeConfigSecret == "" {
		return f, nil
	}
	// A secret of a namespace that is not allowed is not even read.
	if AllowedSecretNamespace(cluster.Namespace, f.secretNamespace) {
		secret, err := h.Secrets.Cache().Get(f.secretNamespace, cluster.Spec.KubeConfigSecret)
		if err != nil && !apierrors.IsNotFound(err) {
			return f, fmt.Errorf("reading secret %s/%s: %w", f.secretNamespace, cluster.Spec.KubeConfigSecret, err)
		}
		if err == nil {
			f.secret = secret
		}
	}
	var err error
	f.accountLives, err = h.accountLives(cluster, f.record)
	return f, err
}

// accountLives says whether the agent can still use what the last import gave it.
func (h *handler) accountLives(c *fleet.Cluster, record registration.Import) (bool, error) {
	account, err := h.Accounts.Cache().Get(h.Names.Registration, names.Account(names.ImportToken(c.Name), record.TokenUID))
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the import account: %w", err)
	}
	return string(account.UID) == record.AccountUID, nil
}
