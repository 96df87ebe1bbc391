package permissions_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
)

// tenants is the namespace of the accounts that stand for people.
const tenants = "tenants"

// tenant is a person with the rights that the matrix gives in the workspace.
func (p *trial) tenant(t *testing.T, who string) identity {
	t.Helper()
	require.NoError(t, p.EnsureNamespace(t.Context(), tenants))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: who}}
	_, err := p.Hub.Kube.CoreV1().ServiceAccounts(tenants).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, p.matrix.Tenants[who], "the matrix has no rules for %s", who)
	p.give(t, who, who, p.matrix.Tenants[who])
	i := p.account(t, who, p.Hub, tenants, who)
	await(t, "the rights of "+who, func(ctx context.Context) (bool, string, error) {
		_, err := i.cluster.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).List(ctx, metav1.ListOptions{})
		return err == nil, "", err
	})
	return i
}

// give lets a person have a Role in the workspace until the end of the test.
func (p *trial) give(t *testing.T, role, who string, rules []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: role, Namespace: stage.Workspace}
	roles, bindings := p.Hub.Kube.RbacV1().Roles(stage.Workspace), p.Hub.Kube.RbacV1().RoleBindings(stage.Workspace)
	_, err := roles.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = bindings.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tenants, Name: who}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		assert.NoError(t, bindings.Delete(ctx, role, metav1.DeleteOptions{}))
		assert.NoError(t, roles.Delete(ctx, role, metav1.DeleteOptions{}))
	})
}

// A right that somebody gets beside the matrix is found twice: by the attempt, and by the rule.
func TestARightThatTheMatrixDoesNotKnowIsFound(t *testing.T) {
	p := newTrial(t, ofTheBed(t))
	for _, row := range p.matrix.Requests {
		for _, where := range row.Where {
			if _, known := p.places.Namespaces[where]; !known {
				p.places.Namespaces[where] = "nowhere"
			}
		}
		if _, known := p.places.Names[row.Name]; !known && row.Name != "" {
			p.places.Names[row.Name] = row.Name
		}
	}
	require.NoError(t, p.EnsureNamespace(t.Context(), tenants))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "too-much"}}
	_, err := p.Hub.Kube.CoreV1().ServiceAccounts(tenants).Create(t.Context(), account, metav1.CreateOptions{})
	require.NoError(t, err)
	p.give(t, "too-much", "too-much", p.matrix.Tenants["tenant-view"])
	p.give(t, "too-much-more", "too-much", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"watch"}}})
	i := p.account(t, "tenant-view", p.Hub, tenants, "too-much")
	await(t, "the rights of too-much", func(ctx context.Context) (bool, string, error) {
		rules, err := i.rules(ctx, stage.Workspace)
		return len(rules) >= len(p.everybody)+6, "", err
	})
	problems, _ := p.problems(t.Context(), t, i)
	require.Len(t, problems, 2, "%v", problems)
	assert.Regexp(t, `^identity=tenant-view verb=watch resource=secrets namespace=fleet-default name=own-token expected=deny got=allow: `, problems[0])
	assert.Equal(t, "identity=tenant-view namespace=fleet-default has a rule that the matrix does not know: watch secrets", problems[1])
}
