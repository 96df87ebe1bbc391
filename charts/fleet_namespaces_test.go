package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/rancher/fleet/pkg/names"
)

// D04: the chart and the controller derive names alike, or the controller could not mint where its accounts are.
func TestDerivedNamespacesAreTheControllersOwn(t *testing.T) {
	for _, system := range []string{
		"cattle-fleet-system", "fleet-system", "fleet", "a-system-b-system", "-systems-x", "my-systems", "fleet-systemd", "system",
	} {
		t.Run(system, func(t *testing.T) {
			i := hub("")
			i.namespace = system
			r := i.mustRender(t)
			for _, namespace := range []string{names.RegistrationNamespace(system), names.AgentsNamespace(system)} {
				object := find[*corev1.Namespace](t, r, "", namespace)
				assert.Equal(t, map[string]string{"helm.sh/resource-policy": "keep"}, object.Annotations)
				role := find[*rbacv1.Role](t, r, namespace, "fleet-controller-mint")
				assert.Equal(t, []rbacv1.PolicyRule{
					{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"create", "update", "patch"}},
					{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}},
				}, role.Rules)
				binding := find[*rbacv1.RoleBinding](t, r, namespace, "fleet-controller-mint")
				assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "fleet-controller", Namespace: system}}, binding.Subjects)
			}
		})
	}
}

// cluster answers lookups with the objects that it holds.
type cluster struct{ objects []runtime.Object }

func (c cluster) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gvr := schema.GroupVersionResource{Version: apiVersion, Resource: "namespaces"}
	return fake.NewSimpleDynamicClient(scheme.Scheme, c.objects...).Resource(gvr), kind != "Namespace", nil
}

func namespace(name, release, releaseNamespace string) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if release != "" {
		n.Annotations = map[string]string{
			"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": releaseNamespace,
		}
	}
	return n
}

// Helm would refuse to take over a namespace that a controller or another chart made, and so refuse the installation.
func TestForeignNamespaceIsUsedAsItIs(t *testing.T) {
	const registration, agents = "Namespace/cattle-fleet-clusters-system", "Namespace/cattle-fleet-agents-system"
	for name, c := range map[string]struct {
		live    *corev1.Namespace
		present bool
	}{
		"another namespace":        {namespace("default", "", ""), true},
		"made by a controller":     {namespace("cattle-fleet-clusters-system", "", ""), false},
		"of another release":       {namespace("cattle-fleet-clusters-system", "other", "cattle-fleet-system"), false},
		"of a release elsewhere":   {namespace("cattle-fleet-clusters-system", "fleet", "elsewhere"), false},
		"of this release: keep it": {namespace("cattle-fleet-clusters-system", "fleet", "cattle-fleet-system"), true},
	} {
		t.Run(name, func(t *testing.T) {
			i := hub("")
			i.live = cluster{[]runtime.Object{c.live}}
			r := i.mustRender(t)
			if c.present {
				assert.Contains(t, r.list(), registration)
			} else {
				assert.NotContains(t, r.list(), registration)
			}
			assert.Contains(t, r.list(), agents)
			find[*rbacv1.Role](t, r, "cattle-fleet-clusters-system", "fleet-controller-mint")
		})
	}
}
