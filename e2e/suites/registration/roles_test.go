package registration_test

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/names"
)

// everythingElse are rules that the hub must not be able to give away.
func everythingElse() map[string]rbacv1.PolicyRule {
	return map[string]rbacv1.PolicyRule{
		"everything":     {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		"tokens":         {APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		"escalation":     {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"escalate"}},
		"binding":        {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"bind"}},
		"impersonation":  {APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}},
		"pods":           {APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}},
		"all of secrets": {APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"*"}},
		"paths":          {NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
	}
}

// ownRule is a rule that the hub has itself.
func ownRule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"fleet.cattle.io"}, Resources: []string{"clusterregistrationtokens"}, Verbs: []string{"register"}}
}

func clusterRole(name string, rule rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
}

// bindingTo would give the hub's own account a role.
func bindingTo(role, name string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: stage.SystemNamespace, Name: names.ControllerAccount}},
	}
}
