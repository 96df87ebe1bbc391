package bootstrapdata

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// namespaces are those that the hub needs. They carry no managed label: that one marks what a cluster owns, and what is
// cleaned up after it.
func namespaces(ns names.Namespaces) []string {
	return []string{ns.System, ns.Registration, ns.Agents}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// objects are the roles of request accounts, and the one binding that all of them share: one for each cluster would be
// gone through at every request to the hub.
func objects(ns names.Namespaces) []runtime.Object {
	return []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta(names.BundleDeploymentClusterRole), Rules: bundleDeploymentRules()},
		&rbacv1.ClusterRole{ObjectMeta: meta(names.ContentClusterRole), Rules: []rbacv1.PolicyRule{
			// A Content is read by its name, which nobody can guess; there is no list.
			rule(fleet.SchemeGroupVersion.Group, "contents", "get"),
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta(names.ContentClusterRoleBinding),
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: names.AccountsGroup(ns.Agents)}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: names.ContentClusterRole},
		},
	}
}

// bundleDeploymentRules is bound in a cluster's namespace, and nowhere else. Secrets and ConfigMaps can be read there by
// name: the values of bundles, and the agent's next credential. So can the namespace itself: an agent removes nothing
// because of what is missing in a namespace that is about to go.
func bundleDeploymentRules() []rbacv1.PolicyRule {
	heartbeat := rule(coordinationv1.GroupName, "leases", "get", "update", "patch")
	heartbeat.ResourceNames = []string{names.HeartbeatLease}
	return []rbacv1.PolicyRule{
		rule(fleet.SchemeGroupVersion.Group, "bundledeployments", "get", "list", "watch"),
		rule(fleet.SchemeGroupVersion.Group, "bundledeployments/status", "update", "patch"),
		heartbeat,
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps", "namespaces"}, Verbs: []string{"get"}},
	}
}

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{names.ManagedLabel: "true"}}
}
