package helmdeployer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/names"
)

// defaultAccount deploys bundles that name no account, where it exists.
const defaultAccount = "fleet-default"

// identity is on whose behalf a bundle is deployed: the account that it names, else the default one if there is one, else
// the agent itself. Everything that is read and written for a bundle is on its behalf.
func (d *Deployer) identity(ctx context.Context, named string) (*cluster.Identity, error) {
	self, err := d.self()
	if err != nil {
		return nil, err
	}
	account := named
	if account == "" {
		account = defaultAccount
	}
	_, err = self.Kube.CoreV1().ServiceAccounts(d.cfg.Namespace).Get(ctx, account, metav1.GetOptions{})
	switch {
	case err == nil:
		return d.cluster.As(names.AccountUser(d.cfg.Namespace, account))
	case apierrors.IsNotFound(err) && named == "":
		return self, nil
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("looking up service account %s/%s: create it, or take serviceAccount out of the bundle: %w", d.cfg.Namespace, account, err)
	}
	return nil, fmt.Errorf("looking up service account %s/%s: %w", d.cfg.Namespace, account, err)
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
