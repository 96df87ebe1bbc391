package rancher

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// LocalName is the cluster that Rancher runs on.
const LocalName = "local"

// Provisioned is a cluster as Rancher knows it.
type Provisioned struct {
	// Name and Namespace are those of the object of Rancher's provisioning, beside which the kubeconfig secret lies.
	Name, Namespace string
	// Management is the name of the cluster in Rancher's management, such as c-m-12345.
	Management string
	// Workspace is where the Cluster lies.
	Workspace string
	// Labels are those that users gave the cluster in Rancher.
	Labels map[string]string
	// Tolerations are added for the agent.
	Tolerations []corev1.Toleration
	// Resources of the agent; nil is written as null.
	Resources *corev1.ResourceRequirements
	// Scheduling is written as it is: nil, an empty object, or texts such as "0".
	Scheduling map[string]any
}

// Local says that it is the cluster that Rancher runs on.
func (p Provisioned) Local() bool { return p.Name == LocalName }

// SecretName is the kubeconfig secret's.
func (p Provisioned) SecretName() string { return p.Name + "-kubeconfig" }

// Access is how Rancher lets others reach a cluster.
type Access struct {
	Server, Token string
	CA            []byte
}

// WriteKubeconfig writes the kubeconfig secret of a cluster. One that exists is deleted and made again, as Rancher does when
// address, CA or token have changed; between the two it calls meanwhile, unless that is nil.
func (c *Client) WriteKubeconfig(ctx context.Context, p Provisioned, access Access, meanwhile func()) error {
	kubeconfig, err := access.kubeconfig()
	if err != nil {
		return err
	}
	secrets := c.hub.Kube.CoreV1().Secrets(p.Namespace)
	err = secrets.Delete(ctx, p.SecretName(), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("kubeconfig secret of %s: %w", p.Name, err)
	}
	if err == nil && meanwhile != nil {
		meanwhile()
	}
	_, err = secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: p.SecretName(), Labels: map[string]string{"cluster.x-k8s.io/cluster-name": p.Name}},
		Data:       map[string][]byte{"value": kubeconfig, "token": []byte(access.Token)},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("kubeconfig secret of %s: %w", p.Name, err)
	}
	return nil
}

// AddLocalAddress adds to the kubeconfig secret of the local cluster how its agent reaches the API server from inside.
func (c *Client) AddLocalAddress(ctx context.Context, p Provisioned, url string, ca []byte) error {
	secrets := c.hub.Kube.CoreV1().Secrets(p.Namespace)
	secret, err := secrets.Get(ctx, p.SecretName(), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("kubeconfig secret of %s: %w", p.Name, err)
	}
	secret.Data["apiServerURL"], secret.Data["apiServerCA"] = []byte(url), ca
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("kubeconfig secret of %s: %w", p.Name, err)
	}
	return nil
}

// kubeconfig is in Rancher's form: cluster, user and context have fixed names.
func (a Access) kubeconfig() ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: a.Server, CertificateAuthorityData: a.CA}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: a.Token}
	config.Contexts["default"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "user"}
	config.CurrentContext = "default"
	return clientcmd.Write(*config)
}
