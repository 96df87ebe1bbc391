package stage

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/names"
)

// PrepareAgent writes what the agent's chart would, but for the bootstrap Secret, into a namespace of any name: the chart
// insists on one.
func (c *Cluster) PrepareAgent(ctx context.Context, namespace, clientID string) error {
	_, err := c.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("an agent by hand: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: names.AgentAccount}}
	if _, err := c.Kube.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("an agent by hand: %w", err)
	}
	if err := c.MayDoAll(ctx, namespace, names.AgentAccount); err != nil {
		return err
	}
	_, err = c.Kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: fmt.Sprintf(`{"clientID":%q,"agentTLSMode":"strict"}`, clientID)},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("an agent by hand: %w", err)
	}
	return nil
}

// MayDoAll gives an account what an agent has.
func (c *Cluster) MayDoAll(ctx context.Context, namespace, account string) error {
	_, err := c.Kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("rights of account %s/%s: %w", namespace, account, err)
	}
	return nil
}

// WriteBootstrap gives an agent something to register with, whether or not there is something already.
func (c *Cluster) WriteBootstrap(ctx context.Context, namespace string, values map[string]any) error {
	document, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("values of a bootstrap: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret},
		Data:       map[string][]byte{"values": document},
	}
	secrets := c.Kube.CoreV1().Secrets(namespace)
	_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("bootstrap secret in %s: %w", namespace, err)
	}
	return nil
}
