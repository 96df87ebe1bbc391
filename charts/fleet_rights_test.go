package charts

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/rancher/fleet/pkg/names"
)

// What the controller may do, cluster-wide and in its own namespace. Whoever adds a right says here on purpose that it is
// needed; e2e/permissions/matrix.yaml has the same as the API server sees it.
func TestControllerHoldsExactlyTheseRights(t *testing.T) {
	r := hub("").mustRender(t)
	core, fleet, rbac := []string{""}, []string{"fleet.cattle.io"}, []string{"rbac.authorization.k8s.io"}
	agents := []string{names.BundleDeploymentClusterRole, names.ContentClusterRole}
	role := find[*rbacv1.ClusterRole](t, r, "", names.ControllerAccount)
	assert.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: fleet, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "register"}},
		{APIGroups: core, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch", "create", "update", "delete"}},
		{APIGroups: core, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		{APIGroups: core, Resources: []string{"serviceaccounts"}, Verbs: []string{"get", "list", "watch", "delete"}},
		{APIGroups: core, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		{APIGroups: rbac, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: rbac, Resources: []string{"clusterroles", "clusterrolebindings"}, Verbs: []string{"get", "list", "watch", "create", "delete"}},
		{APIGroups: rbac, Resources: []string{"clusterroles"}, ResourceNames: agents, Verbs: []string{"update", "patch", "bind"}},
		{APIGroups: rbac, Resources: []string{"clusterrolebindings"}, ResourceNames: []string{names.ContentClusterRoleBinding}, Verbs: []string{"update", "patch"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{names.BundleDefinition}, Verbs: []string{"get"}},
		{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"}, ResourceNames: []string{names.RegistrationPolicy}, Verbs: []string{"get", "list", "watch"}},
	}, role.Rules)

	own := find[*rbacv1.Role](t, r, names.DefaultSystemNamespace, names.ControllerAccount)
	assert.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, ResourceNames: []string{names.ControllerDeployment}, Verbs: []string{"get"}},
	}, own.Rules)
}

// Every binding of the chart, and to whom: a new one must be added here on purpose.
func TestBindingsBindTheirOwnAccountOnly(t *testing.T) {
	bound := map[string]string{}
	bind := func(binding string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		require.Len(t, subjects, 1)
		require.Equal(t, "ServiceAccount", subjects[0].Kind)
		bound[binding+" "+ref.Kind+" "+ref.Name] = subjects[0].Namespace + "/" + subjects[0].Name
	}
	for _, object := range hub("").mustRender(t).objects {
		switch o := object.(type) {
		case *rbacv1.ClusterRoleBinding:
			bind("cluster", o.RoleRef, o.Subjects)
		case *rbacv1.RoleBinding:
			bind(o.Namespace, o.RoleRef, o.Subjects)
		}
	}
	assert.Equal(t, map[string]string{
		"cluster ClusterRole fleet-controller":                     "cattle-fleet-system/fleet-controller",
		"cluster ClusterRole fleet-controller-bootstrap":           "cattle-fleet-system/fleet-controller-bootstrap",
		"cattle-fleet-system Role fleet-controller":                "cattle-fleet-system/fleet-controller",
		"cattle-fleet-clusters-system Role fleet-controller-mint":  "cattle-fleet-system/fleet-controller",
		"cattle-fleet-agents-system Role fleet-controller-mint":    "cattle-fleet-system/fleet-controller",
		"cattle-fleet-clusters-system Role fleet-provenance-probe": "cattle-fleet-clusters-system/fleet-provenance-probe",
	}, bound)
}

// Cluster-wide, each of these is as good as cluster-admin.
func TestNoRoleOfTheControllerCanBecomeMore(t *testing.T) {
	for _, object := range hub("bootstrap: {enabled: false}").mustRender(t).objects {
		var rules []rbacv1.PolicyRule
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			rules = o.Rules
			for _, rule := range rules {
				assert.NotContains(t, rule.Resources, "serviceaccounts/token")
			}
		case *rbacv1.Role:
			rules = o.Rules
		}
		for _, rule := range rules {
			for _, verb := range []string{"escalate", "impersonate"} {
				assert.NotContains(t, rule.Verbs, verb)
			}
			assert.NotContains(t, rule.Verbs, "*", "a list says what is needed")
			if slices.Contains(rule.Verbs, "bind") {
				assert.Equal(t, []string{"clusterroles"}, rule.Resources)
				assert.Equal(t, []string{names.BundleDeploymentClusterRole, names.ContentClusterRole}, rule.ResourceNames, "agents' roles, which hold less than the controller")
			}
			if slices.Contains(rule.Resources, "*") {
				assert.Equal(t, []string{"fleet.cattle.io"}, rule.APIGroups)
			}
		}
	}
}

func TestBootstrapAccountComesWithAnEmptyTokenSecret(t *testing.T) {
	r := hub("").mustRender(t)
	secret := find[*corev1.Secret](t, r, names.DefaultSystemNamespace, names.BootstrapTokenSecret)
	assert.Equal(t, corev1.SecretTypeServiceAccountToken, secret.Type)
	assert.Equal(t, map[string]string{corev1.ServiceAccountNameKey: names.BootstrapAccount}, secret.Annotations)
	assert.Nil(t, secret.Data, "data in the template would take the token away on every upgrade")
	assert.Nil(t, secret.StringData)

	find[*corev1.ServiceAccount](t, r, names.DefaultSystemNamespace, names.BootstrapAccount)
	role := find[*rbacv1.ClusterRole](t, r, "", names.BootstrapAccount)
	assert.Equal(t, everything, role.Rules)
}

var everything = []rbacv1.PolicyRule{
	{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
}
