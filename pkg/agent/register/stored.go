package register

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// stored is a credential as Secret fleet-agent holds it.
type stored struct {
	kubeconfig []byte
	// deploymentNamespace is the cluster's namespace on the hub; workspace and cluster name the Cluster.
	deploymentNamespace, workspace, cluster string
	// order is the digest of the bootstrap secret with which it was got, empty where another agent stored it.
	order string

	server, token string
	ca            []byte
}

// newStored is a credential that the hub has just given.
func newStored(o order, c registration.Credential, token string) (stored, error) {
	out := stored{
		deploymentNamespace: c.DeploymentNamespace,
		workspace:           c.ClusterNamespace,
		cluster:             c.ClusterName,
		order:               o.digest,
		server:              o.APIServerURL,
		ca:                  o.APIServerCA,
	}
	return out.withToken(token)
}

// withToken is the same credential with another token.
func (c stored) withToken(token string) (stored, error) {
	var err error
	c.token = token
	c.kubeconfig, err = kube.BuildKubeconfig(c.server, c.ca, token, c.deploymentNamespace)
	if err != nil {
		return stored{}, err
	}
	return c, c.validate()
}

// readStored reads Secret fleet-agent. An error never repeats a value of it.
func readStored(secret *corev1.Secret) (stored, error) {
	cfg, err := kube.ParseKubeconfig(secret.Data[registration.KeyKubeconfig])
	if err != nil {
		return stored{}, fmt.Errorf("Secret %s/%s, key %q: %w", secret.Namespace, secret.Name, registration.KeyKubeconfig, err)
	}
	c := stored{
		kubeconfig:          secret.Data[registration.KeyKubeconfig],
		deploymentNamespace: string(secret.Data[registration.KeyDeploymentNamespace]),
		workspace:           string(secret.Data[registration.KeyClusterNamespace]),
		cluster:             string(secret.Data[registration.KeyClusterName]),
		order:               string(secret.Data[registration.KeyBootstrapDigest]),
		server:              cfg.Host,
		token:               cfg.BearerToken,
		ca:                  cfg.CAData,
	}
	if err := c.validate(); err != nil {
		return stored{}, fmt.Errorf("Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return c, nil
}

// validate checks what ends up in the paths of calls.
func (c stored) validate() error {
	var errs []error
	if c.token == "" {
		errs = append(errs, fmt.Errorf("key %q: its user has no token", registration.KeyKubeconfig))
	}
	for _, f := range []struct {
		key, value string
		problems   []string
	}{
		{registration.KeyDeploymentNamespace, c.deploymentNamespace, validation.IsDNS1123Label(c.deploymentNamespace)},
		{registration.KeyClusterNamespace, c.workspace, validation.IsDNS1123Label(c.workspace)},
		{registration.KeyClusterName, c.cluster, validation.IsDNS1123Subdomain(c.cluster)},
	} {
		if len(f.problems) > 0 {
			errs = append(errs, fmt.Errorf("key %q: %.80q is no name: %s", f.key, f.value, f.problems[0]))
		}
	}
	return errors.Join(errs...)
}

// data is what to store. The digest of the order stands beside the credential, so that one write says both: after a crash
// the agent knows whether a bootstrap secret has done its work.
func (c stored) data() map[string][]byte {
	data := map[string][]byte{
		registration.KeyKubeconfig:          c.kubeconfig,
		registration.KeyDeploymentNamespace: []byte(c.deploymentNamespace),
		registration.KeyClusterNamespace:    []byte(c.workspace),
		registration.KeyClusterName:         []byte(c.cluster),
	}
	if c.order != "" {
		data[registration.KeyBootstrapDigest] = []byte(c.order)
	}
	return data
}

// key names the credential together with the TLS mode in which it is used.
func (c stored) key(tlsMode string) string {
	return digest(string(c.kubeconfig), c.deploymentNamespace, c.workspace, c.cluster, tlsMode)
}

// session opens the credential. It calls nobody.
func (c stored) session(tlsMode, userAgent, fingerprint string) (hub.Session, error) {
	client, err := hub.Dial(c.kubeconfig, tlsMode, userAgent)
	if err != nil {
		return hub.Session{}, err
	}
	// No error: a credential that is no JWT does not say its times. They are zero then, and nothing is renewed by them.
	claims, _ := registration.ParseClaims(c.token)
	return hub.Session{
		Client:              client,
		Workspace:           c.workspace,
		Cluster:             c.cluster,
		DeploymentNamespace: c.deploymentNamespace,
		Digest:              registration.Digest(c.token),
		Fingerprint:         fingerprint,
		IssuedAt:            claims.IssuedAt,
		Expires:             claims.Expires,
	}, nil
}
