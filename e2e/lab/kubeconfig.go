package lab

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is one user on one cluster.
type Kubeconfig struct {
	// Name of cluster, user and context.
	Name   string
	Server string
	// CA as PEM; empty means the system's authorities.
	CA []byte
	// Either Token or ClientCert and ClientKey (PEM).
	Token      string
	ClientCert []byte
	ClientKey  []byte
	Namespace  string
}

// Bytes is the file's content, with everything inlined.
func (k Kubeconfig) Bytes() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[k.Name] = &clientcmdapi.Cluster{Server: k.Server, CertificateAuthorityData: k.CA}
	config.AuthInfos[k.Name] = &clientcmdapi.AuthInfo{
		Token: k.Token, ClientCertificateData: k.ClientCert, ClientKeyData: k.ClientKey,
	}
	config.Contexts[k.Name] = &clientcmdapi.Context{Cluster: k.Name, AuthInfo: k.Name, Namespace: k.Namespace}
	config.CurrentContext = k.Name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", k.Name, err)
	}
	return content, nil
}

// Write puts the content into a file that only its owner reads.
func (k Kubeconfig) Write(path string) error {
	content, err := k.Bytes()
	if err != nil {
		return err
	}
	return writeFile(path, content)
}

// ServiceAccountKubeconfig makes a kubeconfig with a token of a service account, minted with the rights of admin: a
// process that runs with it has exactly the account's rights. Server and ca say how the process reaches the cluster (the
// API server itself or a shim in front); the shortest life that an API server grants is ten minutes.
func ServiceAccountKubeconfig(
	ctx context.Context, admin *rest.Config, namespace, account string, life time.Duration, server string, ca []byte,
) (Kubeconfig, error) {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return Kubeconfig{}, fmt.Errorf("client for a token of %s/%s: %w", namespace, account, err)
	}
	seconds := int64(life.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return Kubeconfig{}, fmt.Errorf("token of service account %s/%s: %w", namespace, account, err)
	}
	return Kubeconfig{Name: account, Server: server, CA: ca, Token: answer.Status.Token, Namespace: namespace}, nil
}
