package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// tenant is an account that may do everything in the test's namespace, and nothing elsewhere.
func (b *bed) tenant(name string) {
	b.t.Helper()
	b.ensure(b.namespace)
	ctx := b.ctx()
	_, err := b.Kube.CoreV1().ServiceAccounts(agentNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	_, err = b.Kube.RbacV1().RoleBindings(b.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agentNamespace, Name: name}},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

func TestAnAccountDoesWhatItMayAndNothingElse(t *testing.T) {
	b := newBed(t)
	b.tenant("tenant")
	b.ensure("foreign")
	_, err := b.Kube.CoreV1().Secrets("foreign").Create(b.ctx(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"values.yaml": "stolen: VERY-SECRET"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	as := func(job helmdeployer.Job) helmdeployer.Job {
		job.Options.ServiceAccount = "tenant"
		return job
	}
	b.deploy(as(b.bundle("own", configMap("own", "x"))))
	assert.Equal(t, "x", b.value("own"))

	elsewhere := as(b.bundle("elsewhere", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: foreign}\n"))
	values := as(b.bundle("values", configMap("values", "x")))
	values.Options.Helm = &fleet.HelmOptions{ValuesFrom: []fleet.ValuesFrom{{SecretKeyRef: &fleet.SecretKeySelector{
		LocalObjectReference: fleet.LocalObjectReference{Name: "secret"}, Namespace: "foreign",
	}}}}
	lookup := as(b.bundle("lookup"))
	lookup.Files = append(lookup.Files,
		file("Chart.yaml", "apiVersion: v2\nname: look\nversion: 1.0.0\n"),
		file("templates/c.yaml", configMap("looked", `{{ (lookup "v1" "Secret" "foreign" "secret").data | toJson | quote }}`)),
	)
	hook := as(b.bundle("hook"))
	hook.Files = append(hook.Files,
		file("Chart.yaml", "apiVersion: v2\nname: hook\nversion: 1.0.0\n"),
		file("templates/h.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooked, namespace: foreign, annotations: {helm.sh/hook: pre-install}}\n"),
	)
	namespace := as(b.bundle("namespace", configMap("x", "x")))
	namespace.Options.DefaultNamespace = "made-by-tenant"
	labels := as(b.bundle("own", configMap("own", "x")))
	labels.Options.NamespaceLabels = map[string]string{"team": "a"}
	for name, job := range map[string]helmdeployer.Job{
		"an object elsewhere": elsewhere, "values of elsewhere": values, "a look elsewhere": lookup,
		"a hook elsewhere": hook, "a namespace": namespace,
		"a role": as(b.bundle("role", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: by-tenant}\nrules: []\n")),
	} {
		_, err := b.Deploy(b.ctx(), job)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), "forbidden", name)
		assert.Contains(t, err.Error(), "system:serviceaccount:cattle-fleet-system:tenant", name)
		assert.NotContains(t, err.Error(), "VERY-SECRET", name)
	}
	_, err = b.Kube.CoreV1().ConfigMaps("foreign").Get(b.ctx(), "x", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))
	_, err = b.Kube.CoreV1().ConfigMaps("foreign").Get(b.ctx(), "hooked", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err))

	// It may do everything in its namespace, but the namespace itself is an object of the cluster; cluster-admin in a
	// RoleBinding covers it, for its own.
	got, err := b.Deploy(b.ctx(), labels)
	require.NoError(t, err)
	assert.NotEmpty(t, got.ID)
	require.NoError(t, b.Uninstall(b.ctx(), "own"))
	assert.Empty(t, b.value("own"))
}

func TestAHookStaysInTheTargetNamespace(t *testing.T) {
	b := newBed(t)
	b.ensure("foreign-hooks")
	job := helmdeployer.Job{Name: "hooks", Options: fleet.BundleDeploymentOptions{TargetNamespace: b.namespace}}
	job.Files = append(job.Files,
		file("Chart.yaml", "apiVersion: v2\nname: hook\nversion: 1.0.0\n"),
		file("templates/c.yaml", configMap("c", "x")),
		file("templates/h.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooked, namespace: foreign-hooks, annotations: {helm.sh/hook: pre-install}}\ndata: {key: hooked}\n"),
	)
	b.deploy(job)
	assert.Equal(t, "hooked", b.value("hooked"))
	job.Files = append(job.Files, file("templates/r.yaml",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: hook-role, annotations: {helm.sh/hook: pre-upgrade}}\nrules: []\n"))
	_, err := b.Deploy(b.ctx(), job)
	require.ErrorContains(t, err, "invalid cluster scoped object")
}
