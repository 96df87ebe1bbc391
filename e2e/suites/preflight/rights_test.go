package preflight_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

// accounts is the namespace of the accounts that the tests make.
const accounts = "default"

// importer is a kubeconfig of an account with rules everywhere and others in one namespace, which is made if need be.
func importer(t *testing.T, s *stage.Stage, name string, everywhere []rbacv1.PolicyRule, namespace string, there []rbacv1.PolicyRule) lab.Kubeconfig {
	t.Helper()
	kube := s.Hub.Kube
	_, err := kube.CoreV1().ServiceAccounts(accounts).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: named(accounts, name)}, metav1.CreateOptions{})
	require.NoError(t, err)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: accounts, Name: name}}
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	_, err = kube.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: named("", name), Rules: everywhere}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: named("", name), RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
	require.NoError(t, err)
	if len(there) > 0 {
		require.NoError(t, s.EnsureNamespace(t.Context(), namespace))
		role.Kind = "Role"
		_, err = kube.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: named(namespace, name), Rules: there}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = kube.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: named(namespace, name), RoleRef: role, Subjects: subjects}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	kubeconfig, err := s.Hub.ServiceAccountKubeconfig(t.Context(), accounts, name, time.Hour)
	require.NoError(t, err)
	return kubeconfig
}

// rule is what may be done with kinds of a group.
func rule(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// least are the rights without which an import does not come to its end, as docs/check.md lists them.
func least() (everywhere, there []rbacv1.PolicyRule) {
	applied := []string{"list", "create", "get", "patch", "delete"}
	everywhere = []rbacv1.PolicyRule{
		rule("", []string{"namespaces"}, "get", "create", "patch"),
		rule("rbac.authorization.k8s.io", []string{"clusterroles"}, append([]string{"escalate", "bind"}, applied...)...),
		rule("rbac.authorization.k8s.io", []string{"clusterrolebindings"}, applied...),
	}
	there = []rbacv1.PolicyRule{
		rule("", []string{"serviceaccounts", "configmaps"}, applied...),
		rule("networking.k8s.io", []string{"networkpolicies"}, applied...),
		rule("apps", []string{"deployments"}, applied...),
		rule("apps", []string{"statefulsets"}, "delete"),
		rule("", []string{"secrets"}, "get", "create", "update", "delete"),
		rule("policy", []string{"poddisruptionbudgets"}, "delete"),
		rule("coordination.k8s.io", []string{"leases"}, "delete"),
	}
	return everywhere, there
}
