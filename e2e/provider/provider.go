package provider

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/e2e-framework/support"
)

// Environment variables that choose a provider, and say where things are that it needs.
const (
	// Variable is "lab" or "k3d".
	Variable = "FLEET_E2E_PROVIDER"
)

// Front is where pods reach an API server, those of other clusters included.
type Front struct {
	URL string
	CA  []byte
}

// Cluster is one cluster. It does not exist before Create.
type Cluster interface {
	support.E2EClusterProviderWithImageLoader
	// Front says where pods reach its API server.
	Front(ctx context.Context) (Front, error)
}

// Provider makes clusters.
type Provider interface {
	// Name is the one in Variable.
	Name() string
	// Missing says what this machine lacks for it, and how to get that; nil where nothing is missing.
	Missing(ctx context.Context) error
	// Prepare makes what all clusters share, before the first of them.
	Prepare(ctx context.Context) error
	// Cluster is one of a name, with a number of nodes.
	Cluster(name string, nodes int) Cluster
}

// Chosen is the provider that the environment names; the lab where it names none.
func Chosen() (Provider, error) {
	switch name := os.Getenv(Variable); name {
	case "", labName:
		return labProvider{}, nil
	case k3dName:
		return k3dProvider{}, nil
	default:
		return nil, fmt.Errorf("%s is %q: it must be %s or %s", Variable, name, labName, k3dName)
	}
}

// InsideKubeconfig is a kubeconfig with the rights of cfg, for whoever reaches the cluster where its pods do.
func InsideKubeconfig(cfg *rest.Config, front Front) ([]byte, error) {
	out := clientcmdapi.NewConfig()
	out.Clusters["cluster"] = &clientcmdapi.Cluster{Server: front.URL, CertificateAuthorityData: front.CA}
	user := &clientcmdapi.AuthInfo{Token: cfg.BearerToken, ClientCertificateData: cfg.CertData, ClientKeyData: cfg.KeyData}
	if user.Token == "" && len(user.ClientCertificateData) == 0 {
		return nil, fmt.Errorf("the kubeconfig of %s has neither a token nor a client certificate in it", cfg.Host)
	}
	out.AuthInfos["user"] = user
	out.Contexts["default"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	out.CurrentContext = "default"
	return clientcmd.Write(*out)
}
