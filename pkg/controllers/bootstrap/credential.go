package bootstrap

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/fleet/pkg/kube"
)

// credential is a token, or a client certificate and its key.
type credential struct {
	token     string
	cert, key []byte
}

func (c credential) empty() bool { return c.token == "" && len(c.cert) == 0 }

// kubeconfig has everything in it: no file, no program, no second context.
func (c credential) kubeconfig(server string, ca []byte) ([]byte, error) {
	if c.token != "" {
		return kube.BuildKubeconfig(server, ca, c.token, "")
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	out.AuthInfos["user"] = &clientcmdapi.AuthInfo{ClientCertificateData: c.cert, ClientKeyData: c.key}
	out.Contexts["default"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	out.CurrentContext = "default"
	data, err := clientcmd.Write(*out)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the local cluster: %w", err)
	}
	return data, nil
}

// fromSecret is the token of the bootstrap account, empty where the Secret does not give one.
func fromSecret(secret *corev1.Secret) credential {
	if secret == nil || !isTokenOf(secret) {
		return credential{}
	}
	return credential{token: string(secret.Data[corev1.ServiceAccountTokenKey])}
}

// errNoOwn says that the hub's own credential cannot be written down.
var errNoOwn = errors.New("the hub's own kubeconfig has neither a token nor a client certificate that could be used: it asks a program or a plugin")

// own is the credential that the hub itself uses. It serves where there is no bootstrap account: a hub that runs outside
// a cluster has nothing but its kubeconfig.
func own(cfg *rest.Config, read reader) (credential, error) {
	token, err := inlineOrFile([]byte(cfg.BearerToken), cfg.BearerTokenFile, read)
	if err != nil {
		return credential{}, fmt.Errorf("the hub's own token: %w", err)
	}
	if len(token) > 0 {
		return credential{token: strings.TrimSpace(string(token))}, nil
	}
	cert, err := inlineOrFile(cfg.CertData, cfg.CertFile, read)
	if err != nil {
		return credential{}, fmt.Errorf("the hub's own client certificate: %w", err)
	}
	key, err := inlineOrFile(cfg.KeyData, cfg.KeyFile, read)
	if err != nil {
		return credential{}, fmt.Errorf("the hub's own client key: %w", err)
	}
	if len(cert) == 0 || len(key) == 0 {
		return credential{}, errNoOwn
	}
	return credential{cert: cert, key: key}, nil
}

// reader reads a file; it is os.ReadFile but in tests.
type reader func(path string) ([]byte, error)

// inlineOrFile prefers the file, which is the one that is kept fresh.
func inlineOrFile(inline []byte, path string, read reader) ([]byte, error) {
	if path == "" {
		return inline, nil
	}
	return read(path)
}

// address is how the hub reaches its API server.
func address(cfg *rest.Config, read reader) (server string, ca []byte, err error) {
	server = cfg.Host
	if !strings.Contains(server, "://") {
		url, _, err := rest.DefaultServerUrlFor(cfg)
		if err != nil {
			return "", nil, fmt.Errorf("the hub's own server: %w", err)
		}
		server = url.Scheme + "://" + url.Host
	}
	// Inline wins here: that is the order in which client-go looks.
	if ca = cfg.CAData; len(ca) == 0 {
		if ca, err = inlineOrFile(nil, cfg.CAFile, read); err != nil {
			return "", nil, fmt.Errorf("the CA of the hub's own server: %w", err)
		}
	}
	return server, ca, nil
}
