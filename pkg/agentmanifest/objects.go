package agentmanifest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/names"
)

// defaultAccount is the account that Kubernetes puts into every namespace.
const defaultAccount = "default"

// Objects is what runs an agent, in the order in which it is applied, after what Scheduling returns. Its namespace, its
// secrets and its configuration come with the import.
func Objects(o Options) ([]runtime.Object, error) {
	if err := ValidateOptions(o); err != nil {
		return nil, fmt.Errorf("agent in namespace %q: %w", o.Namespace, err)
	}
	o = Normalize(o)
	return []runtime.Object{
		clusterRole(o.Namespace),
		clusterRoleBinding(o.Namespace),
		serviceAccount(o.Namespace, names.AgentAccount),
		withoutToken(serviceAccount(o.Namespace, defaultAccount)),
		deployment(o, Generation(o)),
		networkPolicy(o.Namespace),
	}, nil
}

func clusterRole(namespace string) *rbacv1.ClusterRole {
	all := []string{rbacv1.ResourceAll}
	return &rbacv1.ClusterRole{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"},
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentRole(namespace)},
		Rules: []rbacv1.PolicyRule{
			{Verbs: all, APIGroups: all, Resources: all},
			{Verbs: all, NonResourceURLs: all},
		},
	}
}

func clusterRoleBinding(namespace string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentRoleBinding(namespace)},
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName,
			Kind:     "ClusterRole",
			Name:     names.AgentRole(namespace),
		},
		Subjects: []rbacv1.Subject{{
			Kind:      rbacv1.ServiceAccountKind,
			Namespace: namespace,
			Name:      names.AgentAccount,
		}},
	}
}

func serviceAccount(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
	}
}

func withoutToken(account *corev1.ServiceAccount) *corev1.ServiceAccount {
	account.AutomountServiceAccountToken = ptr(false)
	return account
}

// networkPolicy allows everything: a hardened cluster denies by default, and what an agent must reach is not known here.
func networkPolicy(namespace string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.AgentNetworkPolicy},
		Spec: networkingv1.NetworkPolicySpec{
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{}},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
		},
	}
}
