package clusterimport

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func (h *handler) observe(cluster *fleet.Cluster) (facts, error) {
	cfg := h.Config.Get()
	f := facts{
		cluster: cluster, config: cfg, namespaces: h.Names, now: h.Clock.Now(),
		secretNamespace: registration.KubeconfigSecretNamespace(cluster),
		imported:        cluster.Status.AgentDeployedGeneration != nil,
	}
	f.touch = h.Presence.At(f.now)
	f.record, _ = registration.ImportOf(cluster.Annotations)
	f.options, _, f.optionsError = agentmanifest.Effective(cluster, h.Settings(cfg))
	if cluster.Spec.KubeConfigSecret == "" {
		return f, nil
	}
	// A secret of a namespace that is not allowed is not even read.
	if registration.AllowedSecretNamespace(cluster.Namespace, f.secretNamespace) {
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
