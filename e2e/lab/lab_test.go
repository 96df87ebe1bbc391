package lab

import (
	"context"
	"crypto/x509"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/count"
)

// patience is several times what anything here takes on a busy machine.
const patience = 90 * time.Second

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func hub(t *testing.T) *ControlPlane { return Shared(t, "hub", WithAudit()) }

func clientOf(t *testing.T, c *ControlPlane) *kubernetes.Clientset {
	t.Helper()
	config, err := c.RESTConfig()
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// as makes a client from a kubeconfig.
func as(t *testing.T, kubeconfig Kubeconfig) *kubernetes.Clientset {
	t.Helper()
	content, err := kubeconfig.Bytes()
	require.NoError(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	require.NoError(t, err)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

func newNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func rootCA(ctx context.Context, client kubernetes.Interface, namespace string) string {
	configMap, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return configMap.Data["ca.crt"]
}

func TestServerReportsTheVersionOfItsModule(t *testing.T) {
	version, err := clientOf(t, hub(t)).Discovery().ServerVersion()
	require.NoError(t, err)
	require.Regexp(t, `^v1\.37\.\d+$`, version.GitVersion)
	require.Equal(t, "37", version.Minor)
}

func TestNamespacesComeWithAccountAndAuthorityAndGoAway(t *testing.T) {
	ctx, client := t.Context(), clientOf(t, hub(t))
	newNamespace(t, client, "coming-and-going")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := client.CoreV1().ServiceAccounts("coming-and-going").Get(ctx, "default", metav1.GetOptions{})
		require.NoError(c, err)
		require.Equal(c, string(hub(t).CA()), rootCA(ctx, client, "coming-and-going"))
	}, patience, 20*time.Millisecond)

	require.NoError(t, client.CoreV1().Namespaces().Delete(ctx, "coming-and-going", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, "coming-and-going", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, patience, 20*time.Millisecond)
}

func TestGarbageIsCollected(t *testing.T) {
	ctx, client := t.Context(), clientOf(t, hub(t))
	newNamespace(t, client, "garbage")
	maps := client.CoreV1().ConfigMaps("garbage")
	owner, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, maps.Delete(ctx, "owner", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := maps.Get(ctx, "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, patience, 20*time.Millisecond)
}

func TestAuditLogCountsWhatAClientDid(t *testing.T) {
	c := hub(t)
	config, err := c.RESTConfig()
	require.NoError(t, err)
	config.UserAgent = "counted/v1"
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	before, err := c.Requests()
	require.NoError(t, err)

	newNamespace(t, client, "counted")
	_, err = client.CoreV1().Namespaces().Get(t.Context(), "counted", metav1.GetOptions{})
	require.NoError(t, err)

	after, err := c.Requests()
	require.NoError(t, err)
	require.Equal(t, count.Counts{
		{User: adminUser, UserAgent: "counted", Verb: "create", Resource: "namespaces"}: 1,
		{User: adminUser, UserAgent: "counted", Verb: "get", Resource: "namespaces"}:    1,
	}, after.Sub(before).Where(count.By("counted")))
}

func TestServiceAccountKubeconfigHasTheAccountsRightsAndNoOthers(t *testing.T) {
	ctx, c := t.Context(), hub(t)
	admin := clientOf(t, c)
	newNamespace(t, admin, "rights")
	_, err := admin.CoreV1().ServiceAccounts("rights").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().Roles("rights").Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().RoleBindings("rights").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "worker"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "worker"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "rights", Name: "worker"}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, "rights", "worker", time.Hour)
	require.NoError(t, err)
	client := as(t, kubeconfig)
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		_, err := client.CoreV1().ConfigMaps("rights").List(ctx, metav1.ListOptions{})
		require.NoError(collect, err) // the authorizer learns of a new binding by a watch
	}, patience, 20*time.Millisecond)
	_, err = client.CoreV1().Secrets("rights").List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	_, err = c.ServiceAccountKubeconfig(ctx, "rights", "nobody", time.Hour)
	require.ErrorContains(t, err, "rights/nobody")
}

func TestClientCertificateIsAUser(t *testing.T) {
	c := hub(t)
	kubeconfig, err := c.ClientCertKubeconfig("somebody", time.Hour, "system:masters")
	require.NoError(t, err)
	_, err = as(t, kubeconfig).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)

	kubeconfig, err = c.ClientCertKubeconfig("somebody", time.Hour)
	require.NoError(t, err)
	_, err = as(t, kubeconfig).CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, `"somebody"`)
}

// For T01 and B20.
func TestRenewedAuthorityAndKeyShutOldClientsOut(t *testing.T) {
	ctx, c := t.Context(), New(t)
	old, err := c.ServiceAccountKubeconfig(ctx, "default", "default", time.Hour)
	require.NoError(t, err)
	whoami := func(k Kubeconfig) error {
		_, err := as(t, k).Discovery().ServerVersion()
		return err
	}
	require.NoError(t, whoami(old))

	oldURL := c.URL
	require.NoError(t, c.RotateServingCA(ctx))
	require.Equal(t, oldURL, c.URL)
	require.ErrorAs(t, whoami(old), new(x509.UnknownAuthorityError))
	renewed := old
	renewed.CA = c.CA()
	require.NoError(t, whoami(renewed), "the token itself stays valid")
	admin := clientOf(t, c)
	require.Eventually(t, func() bool { return rootCA(ctx, admin, "default") == string(c.CA()) }, patience, 50*time.Millisecond)

	require.NoError(t, c.RotateServiceAccountKey(ctx))
	_, err = as(t, renewed).CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
	fresh, err := c.ServiceAccountKubeconfig(ctx, "default", "default", time.Hour)
	require.NoError(t, err)
	require.NoError(t, whoami(fresh))
}

// For R08 and R15.
func TestControllerManagerComesLaterAndLeaves(t *testing.T) {
	ctx, c := t.Context(), New(t, WithoutControllerManager())
	client := clientOf(t, c)
	_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	require.NoError(t, c.StartControllerManager(ctx))
	_, err = client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, c.StartControllerManager(ctx), "runs already")

	require.NoError(t, c.StopControllerManager(ctx))
	require.False(t, c.runs(controllerManager))
	require.NoError(t, c.StopControllerManager(ctx), "a second stop has nothing to do")
	require.NoError(t, c.StartControllerManager(ctx))
}

func TestAPIServerComesBackAtItsAddressWithItsData(t *testing.T) {
	ctx, c := t.Context(), New(t, WithoutControllerManager())
	client := clientOf(t, c)
	newNamespace(t, client, "kept")
	_, err := client.CoreV1().ServiceAccounts("kept").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, c.StopAPIServer(ctx))
	_, err = client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
	require.ErrorContains(t, err, "connection refused")
	require.NoError(t, c.StartAPIServer(ctx))
	_, err = client.CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
	require.NoError(t, err)

	// A server that grants shorter tokens than were asked for.
	require.NoError(t, c.RestartAPIServer(ctx, "--service-account-extend-token-expiration=false", "--service-account-max-token-expiration=2h"))
	kubeconfig, err := c.ServiceAccountKubeconfig(ctx, "kept", "worker", 24*time.Hour)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(2*time.Hour), expiry(t, kubeconfig.Token), 5*time.Minute)
}

func TestOlderLineWorksToo(t *testing.T) {
	root, err := FindRoot()
	require.NoError(t, err)
	built, err := Built(root, "1.36")
	require.NoError(t, err)
	if !built {
		t.Skip("Kubernetes 1.36 is not built; scripts/lab build --version 1.36 takes about ten minutes")
	}
	version, err := clientOf(t, New(t, WithVersion("1.36"))).Discovery().ServerVersion()
	require.NoError(t, err)
	require.Regexp(t, `^v1\.36\.\d+$`, version.GitVersion)
}
