package stage

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/lab"
)

// AsToken is the cluster as the bearer of a token sees it; an empty token is nobody in particular.
func (c *Cluster) AsToken(name, token string) (*Cluster, error) {
	cfg := rest.AnonymousClientConfig(c.Config)
	cfg.QPS, cfg.UserAgent, cfg.BearerToken = -1, name, token
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("clients of %s for %s: %w", c.Name, name, err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("clients of %s for %s: %w", c.Name, name, err)
	}
	return &Cluster{ControlPlane: c.ControlPlane, Config: cfg, Kube: kube, Dynamic: objects}, nil
}

// AsAccount is the cluster as a service account sees it.
func (c *Cluster) AsAccount(ctx context.Context, namespace, account string) (*Cluster, error) {
	kubeconfig, err := lab.ServiceAccountKubeconfig(ctx, c.Config, namespace, account, accountLife, c.URL, c.CA())
	if err != nil {
		return nil, err
	}
	return c.AsToken(account, kubeconfig.Token)
}
