package registration

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Further keys of the credential secret c-… on the hub.
const (
	KeyDeploymentNamespace = "deploymentNamespace"
	KeyClusterName         = "clusterName"
	KeySystemNamespace     = "systemNamespace"
	// KeySealedToken stands in place of KeyToken where the request brought a key.
	KeySealedToken = "sealedToken"
	// KeyHubUID is the UID of the hub's kube-system namespace, in clear: a part of the binding that the agent cannot know.
	KeyHubUID = "hubUID"
)

// Further keys of the agent's own secrets.
const (
	KeyKubeconfig = "kubeconfig"
	// KeyPrivateKey, KeyRequest, KeyClientRandom and KeyBootstrapDigest are those of Secret fleet-agent-identity: the key
	// pair, and the request that is under way with the bootstrap secret for which it was begun.
	KeyPrivateKey      = "privateKey"
	KeyRequest         = "request"
	KeyClientRandom    = "clientRandom"
	KeyBootstrapDigest = "bootstrapDigest"
)

// Credential is what a granted request gets.
type Credential struct {
	// Token is empty where SealedToken is set.
	Token       string
	SealedToken string
	HubUID      string
	// DeploymentNamespace is the cluster's namespace on the hub, ClusterNamespace its workspace.
	DeploymentNamespace string
	ClusterNamespace    string
	ClusterName         string
	SystemNamespace     string
}

// Data is the credential as the data of Secret c-….
func (c Credential) Data() map[string][]byte {
	data := map[string][]byte{
		KeyDeploymentNamespace: []byte(c.DeploymentNamespace),
		KeyClusterNamespace:    []byte(c.ClusterNamespace),
		KeyClusterName:         []byte(c.ClusterName),
		KeySystemNamespace:     []byte(c.SystemNamespace),
	}
	if c.SealedToken != "" {
		data[KeySealedToken] = []byte(c.SealedToken)
		data[KeyHubUID] = []byte(c.HubUID)
	} else {
		data[KeyToken] = []byte(c.Token)
	}
	return data
}

// ParseCredential reads the data of Secret c-….
func ParseCredential(data map[string][]byte) (Credential, error) {
	c := Credential{
		Token:               string(data[KeyToken]),
		SealedToken:         string(data[KeySealedToken]),
		HubUID:              string(data[KeyHubUID]),
		DeploymentNamespace: string(data[KeyDeploymentNamespace]),
		ClusterNamespace:    string(data[KeyClusterNamespace]),
		ClusterName:         string(data[KeyClusterName]),
		SystemNamespace:     string(data[KeySystemNamespace]),
	}
	var errs []error
	errs = append(errs, validateNamespace(KeyDeploymentNamespace, c.DeploymentNamespace))
	errs = append(errs, validateNamespace(KeyClusterNamespace, c.ClusterNamespace))
	if problems := validation.IsDNS1123Subdomain(c.ClusterName); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("key %q: %.80q is no name of a Cluster: %s", KeyClusterName, c.ClusterName, problems[0]))
	}
	if c.SystemNamespace != "" {
		errs = append(errs, validateNamespace(KeySystemNamespace, c.SystemNamespace))
	}
	return c, errors.Join(append(errs, c.validateToken())...)
}

func (c Credential) validateToken() error {
	switch {
	case c.Token == "" && c.SealedToken == "":
		return fmt.Errorf("the credential has neither %q nor %q", KeyToken, KeySealedToken)
	case c.Token != "" && c.SealedToken != "":
		return fmt.Errorf("the credential has both %q and %q; a sealed one leaves no other", KeyToken, KeySealedToken)
	case c.SealedToken != "" && (c.HubUID == "" || !isPlain(c.HubUID)):
		return fmt.Errorf("the credential is sealed and its key %q is no UID", KeyHubUID)
	case len(c.Token) > maxToken || len(c.SealedToken) > maxSealed:
		return fmt.Errorf("the credential is longer than a token can be")
	case !isPlain(c.Token):
		return fmt.Errorf("key %q of the credential has characters that no token has", KeyToken)
	}
	return nil
}
