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

// recorded is on whose behalf a release was deployed. An account that is gone by now is still who acts: nobody else may.
func (d *Deployer) recorded(ctx context.Context, account string) (*cluster.Identity, error) {
	if account == "" {
		return d.identity(ctx, "")
	}
	return d.cluster.As(names.AccountUser(d.cfg.Namespace, account))
}

// actor is on whose behalf a release was deployed, by the annotations of its chart.
func (d *Deployer) actor(ctx context.Context, notes map[string]string) (*cluster.Identity, error) {
	if notes[accountAnnotation] == "" && names.IsAgentBundle(notes[bundleIDAnnotation]) {
		return d.self()
	}
	return d.recorded(ctx, notes[accountAnnotation])
}
