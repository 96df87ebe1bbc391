package bundledeployment

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
)

// local is the cluster that the agent runs in.
type local struct {
	cfg       *rest.Config
	client    kubernetes.Interface
	namespace string

	mu sync.Mutex
	as map[string]kubernetes.Interface
}

// NewLocal is the agent's own cluster, which cfg and client reach as the agent itself. namespace is the agent's.
func NewLocal(cfg *rest.Config, client kubernetes.Interface, namespace string) Local {
	return &local{cfg: cfg, client: client, namespace: namespace, as: map[string]kubernetes.Interface{}}
}

func (l *local) Agent() kubernetes.Interface { return l.client }

func (l *local) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return l.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
}

func (l *local) As(ctx context.Context, serviceAccount string) (kubernetes.Interface, error) {
	account, err := helmdeployer.AccountOf(ctx, l.client.CoreV1().ServiceAccounts(l.namespace), l.namespace, serviceAccount)
	switch {
	case err != nil:
		return nil, err
	case account == "":
		return l.client, nil
	}
	return l.impersonating(account)
}

// impersonating keeps the clients: they share the connections of one pool.
func (l *local) impersonating(account string) (kubernetes.Interface, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if client := l.as[account]; client != nil {
		return client, nil
	}
	cfg := rest.CopyConfig(l.cfg)
	cfg.Impersonate.UserName = names.AccountUser(l.namespace, account)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("acting as service account %s/%s: %w", l.namespace, account, err)
	}
	l.as[account] = client
	return client, nil
}
