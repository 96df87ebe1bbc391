package kube

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// LivesOf says how long what hub and cluster rest on is good. secret is the kubeconfig secret, nil where there is none;
// hubCA is the configured one.
func LivesOf(c *fleet.Cluster, secret *corev1.Secret, hubCA []byte, now time.Time) registration.Lives {
	lives := registration.Lives{HubCA: registration.LifeOfCA(registration.HubCAOf(secret, hubCA), now)}
	if secret == nil {
		return lives
	}
	lives.Secret = registration.KubeconfigSecretNamespace(c) + "/" + c.Spec.KubeConfigSecret
	if len(secret.Data[registration.KeyAPIServerCA]) > 0 {
		lives.CAFrom = lives.Secret
	}
	lives.Kubeconfig, lives.KubeconfigCA = KubeconfigLives(secret.Data[registration.KeyKubeconfigValue], now)
	return lives
}

// KubeconfigLives says how long the credential and the CA of a kubeconfig are good, by what they say themselves. Of a
// client certificate and a token the one that ends first counts: which of them a server goes by is its own affair. Of a
// kubeconfig that is not used (see ParseKubeconfig) nothing is said.
func KubeconfigLives(data []byte, now time.Time) (credential, ca registration.Life) {
	cfg, err := ParseKubeconfig(data)
	if err != nil {
		return registration.Life{}, registration.Life{}
	}
	credential = registration.Sooner(registration.LifeOfChain(cfg.CertData), registration.LifeOfToken(cfg.BearerToken))
	return credential, registration.LifeOfCA(cfg.CAData, now)
}
