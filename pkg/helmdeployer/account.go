package helmdeployer

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/names"
)

// AccountOf is the service account that deploys a bundle which names the given one, or none: the default one where it exists,
// and empty where the agent does it itself.
//
// Where the default one exists it is a limit for bundles, and none of them may step over it by the name of an account that is
// Fleet's own.
func AccountOf(ctx context.Context, accounts Accounts, namespace, named string) (string, error) {
	if named != "" {
		if _, err := accounts.Get(ctx, named, metav1.GetOptions{}); err != nil {
			return "", lookup(namespace, named, err)
		}
		if !names.IsFleetsAccount(named) {
			return named, nil
		}
	}
	_, err := accounts.Get(ctx, names.DefaultDeployAccount, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return named, nil
	case err != nil:
		return "", lookup(namespace, names.DefaultDeployAccount, err)
	case named != "":
		return "", fmt.Errorf("service account %s/%s is Fleet's own, and here bundles are limited to what %s may do: take serviceAccount out of the bundle, or name another",
			namespace, named, names.DefaultDeployAccount)
	}
	return names.DefaultDeployAccount, nil
}

// Accounts looks service accounts up, those of the agent's namespace.
type Accounts interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ServiceAccount, error)
}

func lookup(namespace, account string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("looking up service account %s/%s: create it, or take serviceAccount out of the bundle: %w", namespace, account, err)
	}
	return fmt.Errorf("looking up service account %s/%s: %w", namespace, account, err)
}

// identity is on whose behalf a bundle is deployed: the account that it names, else the default one if there is one, else
// the agent itself. Everything that is read and written for a bundle is on its behalf.
func (d *Deployer) identity(ctx context.Context, named string) (*cluster.Identity, error) {
	self, err := d.self()
	if err != nil {
		return nil, err
	}
	account, err := AccountOf(ctx, self.Kube.CoreV1().ServiceAccounts(d.cfg.Namespace), d.cfg.Namespace, named)
	if err != nil {
		return nil, err
	}
	if account == "" {
		return self, nil
	}
	return d.cluster.As(names.AccountUser(d.cfg.Namespace, account))
}

// onBehalf is who acts on a release that is there. An account that is gone by now is still who acts: nobody else may.
func (d *Deployer) onBehalf(ctx context.Context, owner Owner) (*cluster.Identity, error) {
	if owner.Agent && owner.ServiceAccount == "" {
		return d.self()
	}
	return d.as(ctx, owner.ServiceAccount)
}

// as acts for an account by its name, or for a bundle that names none.
func (d *Deployer) as(ctx context.Context, account string) (*cluster.Identity, error) {
	if account == "" {
		return d.identity(ctx, "")
	}
	return d.cluster.As(names.AccountUser(d.cfg.Namespace, account))
}
