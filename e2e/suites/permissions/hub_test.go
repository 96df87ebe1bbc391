package permissions_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Whoever may write roles must not give away more than it has.
func TestTheHubCannotMakeItselfMore(t *testing.T) {
	b := ofTheBed(t)
	hub, err := b.Hub.AsToken("probe", tokenOf(t, b.Hub, stage.SystemNamespace, names.ControllerAccount))
	require.NoError(t, err)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	for what, rule := range everythingElse() {
		role := clusterRole("probe", rule)
		_, err := hub.Kube.RbacV1().ClusterRoles().Create(t.Context(), role, dry)
		require.True(t, apierrors.IsForbidden(err), "a role with %s: %v", what, err)
		require.ErrorContains(t, err, "attempting to grant RBAC permissions not currently held", what)
	}
	for _, role := range []string{"cluster-admin", "admin", "fleet-controller-bootstrap"} {
		_, err := hub.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), bindingTo(role, "probe"), dry)
		require.True(t, apierrors.IsForbidden(err), "a binding to %s: %v", role, err)
	}
	// The attempt itself is sound: what the hub has it may give away.
	_, err = hub.Kube.RbacV1().ClusterRoles().Create(t.Context(), clusterRole("probe", ownRule()), dry)
	require.NoError(t, err)
}

// A token that is deleted takes its account along, and with it at once what it could do.
func TestADeletedTokensAccountMayDoNothing(t *testing.T) {
	b := ofTheBed(t)
	jwt := b.newToken(t, "short-lived", fleet.ClusterRegistrationTokenSpec{})
	account := b.accountOf(t, "short-lived")
	a := b.applicant(t, "short-lived", jwt, "client")
	require.NoError(t, a.AwaitLeave(stage.Until(t, patience)))
	require.NoError(t, b.Hub.Dynamic.Resource(stage.Tokens).Namespace(stage.Workspace).Delete(t.Context(), "short-lived", metav1.DeleteOptions{}))
	await(t, "the end of the account's rights", func(ctx context.Context) (bool, string, error) {
		_, err := a.Hub.Dynamic.Resource(stage.Registrations).Namespace(a.Workspace).Get(ctx, a.Request.Name, metav1.GetOptions{})
		return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err), fmt.Sprint(err), nil // until then: not found
	})
	await(t, "the end of the account", func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Kube.CoreV1().ServiceAccounts(stage.RegistrationNamespace).Get(ctx, account, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err), nil
	})
}

// everythingElse are rules that the hub must not be able to give away.
func everythingElse() map[string]rbacv1.PolicyRule {
	return map[string]rbacv1.PolicyRule{
		"everything":     {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		"tokens":         {APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
		"escalation":     {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"escalate"}},
		"binding":        {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"bind"}},
		"impersonation":  {APIGroups: []string{""}, Resources: []string{"users"}, Verbs: []string{"impersonate"}},
		"any account":    {APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create"}},
		"namespaces":     {APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"patch"}},
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
