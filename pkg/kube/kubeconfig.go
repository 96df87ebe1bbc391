package kube

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// MaxKubeconfig is the largest kubeconfig that is read, in bytes. It is what fits into a Secret.
const MaxKubeconfig = 1 << 20

// DownstreamConfig is how the hub reaches the cluster of a kubeconfig that somebody stored: see ParseKubeconfig for what
// is refused, WithTrust for the TLS mode. Each call ends after timeout, and after MaxAnswer bytes: the cluster is not ours.
// Nothing is sent to a link-local address, which is the hub's machine's and not a cluster's.
func DownstreamConfig(data []byte, tlsMode string, timeout time.Duration) (*rest.Config, error) {
	cfg, proxy, err := parseKubeconfig(data)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(refuseLinkLocal("cluster.server", cfg.Host), refuseLinkLocal("cluster.proxy-url", proxy)); err != nil {
		return nil, err
	}
	cfg.Dial = dialNoLinkLocal().DialContext
	cfg.DisableCompression = true // or a small answer unpacks into a large one
	if err := reach(cfg, tlsMode, timeout); err != nil {
		return nil, err
	}
	withBoundedAnswers(cfg, MaxAnswer)
	return cfg, nil
}

// UpstreamConfig is how an agent reaches its hub with a kubeconfig that the hub gave it, which is read with the same care.
// The hub's answers are as long as they are: the agent does what the hub says.
//
// Where nobody says the mode, the kubeconfig alone does: a CA in it is all that is trusted. What is missing must not widen
// trust, and what a hub with strict gave always has one.
func UpstreamConfig(data []byte, tlsMode string, timeout time.Duration) (*rest.Config, error) {
	cfg, err := ParseKubeconfig(data)
	if err != nil {
		return nil, err
	}
	switch {
	case tlsMode == "" && len(cfg.CAData) > 0:
		tlsMode = TLSStrict
	case tlsMode == "":
		tlsMode = TLSSystemStore
	}
	return cfg, reach(cfg, tlsMode, timeout)
}

func reach(cfg *rest.Config, tlsMode string, timeout time.Duration) error {
	if err := WithTrust(cfg, tlsMode, cfg.CAData); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	withoutRedirects(cfg)
	WithCallTimeout(cfg, timeout)
	return nil
}

// ParseKubeconfig reads the current context of a kubeconfig that is not trusted. Whoever wrote it must not make this
// process run a program, read a file or skip the check of a certificate, so all credentials have to be inline; a
// path in the server's URL stays. Errors name the field and never repeat a value.
func ParseKubeconfig(data []byte) (*rest.Config, error) {
	cfg, _, err := parseKubeconfig(data)
	return cfg, err
}

// parseKubeconfig returns the URL of the proxy as well.
func parseKubeconfig(data []byte) (*rest.Config, string, error) {
	raw, err := decodeKubeconfig(data)
	if err != nil {
		return nil, "", err
	}
	current, err := currentContext(raw)
	if err != nil {
		return nil, "", err
	}
	cluster, user := current.Clusters[only], current.AuthInfos[only]
	if err := refuseCluster(cluster); err != nil {
		return nil, "", err
	}
	if err := refuseUser(user); err != nil {
		return nil, "", err
	}
	if cluster.Server, err = httpsHost(cluster.Server); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: cluster.server: %w", err)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*current, only, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	unlimited(cfg)
	return cfg, cluster.ProxyURL, nil
}

// only is the name of everything in a kubeconfig that was reduced to its current context.
const only = "current"

func decodeKubeconfig(data []byte) (*clientcmdapi.Config, error) {
	switch {
	case len(data) == 0:
		return nil, errors.New("kubeconfig: it is empty")
	case len(data) > MaxKubeconfig:
		return nil, fmt.Errorf("kubeconfig: it has %d bytes, at most %d are read", len(data), MaxKubeconfig)
	}
	raw, err := clientcmd.Load(data)
	if err != nil {
		// The decoder's own words may quote the line that it stumbled over, and with it a token.
		return nil, errors.New("kubeconfig: it cannot be read as YAML or JSON of kind Config, apiVersion v1")
	}
	return raw, nil
}

// currentContext is a config that holds nothing but the current context with its cluster and its user.
func currentContext(raw *clientcmdapi.Config) (*clientcmdapi.Config, error) {
	if raw.CurrentContext == "" {
		return nil, errors.New("kubeconfig: current-context is not set")
	}
	context := raw.Contexts[raw.CurrentContext]
	if context == nil {
		return nil, errors.New("kubeconfig: current-context names a context that is not in contexts")
	}
	cluster := raw.Clusters[context.Cluster]
	if cluster == nil {
		return nil, errors.New("kubeconfig: the current context names a cluster that is not in clusters")
	}
	user := raw.AuthInfos[context.AuthInfo]
	if user == nil {
		return nil, errors.New("kubeconfig: the current context names a user that is not in users")
	}
	reduced := clientcmdapi.NewConfig()
	reduced.Contexts[only] = &clientcmdapi.Context{Cluster: only, AuthInfo: only, Namespace: context.Namespace}
	reduced.Clusters[only] = cluster.DeepCopy()
	reduced.AuthInfos[only] = user.DeepCopy()
	reduced.CurrentContext = only
	return reduced, nil
}

func refuseCluster(cluster *clientcmdapi.Cluster) error {
	switch {
	case cluster.Server == "":
		return errors.New("kubeconfig: cluster.server is empty")
	case cluster.CertificateAuthority != "":
		return refused("cluster.certificate-authority is a file", "certificate-authority-data")
	case cluster.InsecureSkipTLSVerify:
		return refused("cluster.insecure-skip-tls-verify would hand the credential to anyone", "certificate-authority-data")
	}
	return refuseProxy(cluster.ProxyURL)
}

func refuseUser(user *clientcmdapi.AuthInfo) error {
	switch {
	case user.Exec != nil:
		return refused("user.exec runs a program", "token, or client-certificate-data and client-key-data")
	case user.AuthProvider != nil:
		return refused("user.auth-provider is a plugin", "token, or client-certificate-data and client-key-data")
	case user.ClientCertificate != "":
		return refused("user.client-certificate is a file", "client-certificate-data")
	case user.ClientKey != "":
		return refused("user.client-key is a file", "client-key-data")
	case user.TokenFile != "":
		return refused("user.tokenFile is a file", "token")
	case strings.ContainsFunc(user.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("kubeconfig: user.token has characters that no token has, such as a line break: was it cut, or encoded twice?")
	}
	return nil
}

func refused(what, instead string) error {
	return fmt.Errorf("kubeconfig: %s and is refused: put %s inline", what, instead)
}

// BuildKubeconfig is a kubeconfig with one cluster "cluster", one user "user" that has a token, and one context "default"
// in the given namespace.
func BuildKubeconfig(server string, ca []byte, token, namespace string) ([]byte, error) {
	switch {
	case server == "":
		return nil, errors.New("kubeconfig: no server URL to put in (apiServerURL)")
	case token == "":
		return nil, errors.New("kubeconfig: no token to put in")
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["cluster"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	out.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: token}
	out.Contexts["default"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user", Namespace: namespace}
	out.CurrentContext = "default"
	data, err := clientcmd.Write(*out)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return data, nil
}
