package clusterimport

import (
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/registration"
)

// Keys of a kubeconfig secret.
const (
	keyKubeconfig = registration.KeyKubeconfigValue
	keyServerURL  = registration.KeyAPIServerURL
	keyServerCA   = registration.KeyAPIServerCA
)

// target is where the agent shall report to.
type target struct {
	serverURL string
	serverCA  []byte
}

// effectiveTarget is where the agent shall report to, or what keeps it from being known. URL and CA of the secret come
// before those of the configuration, each on its own.
func effectiveTarget(f facts) (target, *plan) {
	wait := func(reason, format string, args ...any) (target, *plan) {
		return target{}, &plan{action: await, reason: reason, message: fmt.Sprintf(format, args...)}
	}
	if problem := withoutSecret(f); problem != nil {
		return target{}, problem
	}
	name := f.secretNamespace + "/" + f.cluster.Spec.KubeConfigSecret
	switch {
	case len(f.secret.Data[keyKubeconfig]) == 0:
		return wait(reasonBadSecret, "secret %s has no kubeconfig under key %q", name, keyKubeconfig)
	case f.config.AgentTLSMode != config.TLSStrict && f.config.AgentTLSMode != config.TLSSystemStore:
		return wait(reasonTLSMode, "agentTLSMode %q of the hub's configuration is none of %q and %q", f.config.AgentTLSMode, config.TLSStrict, config.TLSSystemStore)
	case f.optionsError != nil:
		return wait(reasonBadOptions, "%s", f.optionsError)
	}
	t := target{serverURL: strings.TrimSpace(string(f.secret.Data[keyServerURL])), serverCA: registration.HubCAOf(f.secret, f.config.APIServerCA)}
	if t.serverURL == "" {
		t.serverURL = f.config.APIServerURL
	}
	if t.serverURL == "" {
		return wait(reasonNoServerURL, "no address of this hub is known for agents: set apiServerURL in the hub's configuration, or key %q in secret %s", keyServerURL, name)
	}
	if err := registration.ValidateServerURL(t.serverURL); err != nil {
		return wait(reasonBadServerURL, "address of this hub for agents: %s", err)
	}
	if problem := withoutCA(f, t.serverCA, name); problem != nil {
		return target{}, problem
	}
	return t, nil
}

// withoutCA says why an agent would refuse the CA that it is given, nil where it would not: pkg/kube trusts by these rules.
func withoutCA(f facts, ca []byte, secret string) *plan {
	if len(ca) == 0 {
		if f.config.AgentTLSMode != config.TLSStrict {
			return nil
		}
		return &plan{action: await, reason: reasonNoServerCA, message: fmt.Sprintf(
			"agents are to trust the given CA alone (agentTLSMode %q), and none is given: set apiServerCA in the hub's configuration, or key %q in secret %s, "+
				"or agentTLSMode %q where the system's authorities vouch for this hub", config.TLSStrict, keyServerCA, secret, config.TLSSystemStore)}
	}
	if x509.NewCertPool().AppendCertsFromPEM(ca) {
		return nil
	}
	from := "apiServerCA of the hub's configuration"
	if len(f.secret.Data[keyServerCA]) > 0 {
		from = fmt.Sprintf("key %q of secret %s", keyServerCA, secret)
	}
	return &plan{action: await, reason: reasonBadServerCA, message: fmt.Sprintf(
		"%s holds no certificate: put the CA of this hub there as PEM, one or more CERTIFICATE blocks, neither as DER nor encoded once more", from)}
}

// withoutSecret says why there is no kubeconfig secret that may be used, nil where there is one.
func withoutSecret(f facts) *plan {
	switch {
	case !registration.AllowedSecretNamespace(f.cluster.Namespace, f.secretNamespace):
		return &plan{action: await, reason: reasonSecretNamespace, message: fmt.Sprintf(
			"kubeConfigSecretNamespace %q is not an allowed Fleet namespace; put the secret into %s", f.secretNamespace, f.cluster.Namespace)}
	case f.secret != nil:
		return nil
	case f.cluster.Spec.KubeConfigSecret == "":
		return &plan{action: await, reason: reasonNoSecret, message: "spec.kubeConfigSecret is empty; name the Secret that has a kubeconfig of the cluster"}
	}
	return &plan{action: await, reason: reasonNoSecret, message: fmt.Sprintf(
		"secret %s/%s (spec.kubeConfigSecret) does not exist; the hub goes on as soon as it does", f.secretNamespace, f.cluster.Spec.KubeConfigSecret)}
}
