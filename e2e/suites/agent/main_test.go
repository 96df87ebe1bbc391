// Package agent_test runs the agent with a hub whose bundle deployments are written by hand: what an API server in memory
// cannot show of it. One control plane is both sides; the agent has, on the hub's side, the rights that the hub grants.
package agent_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	"github.com/rancher/fleet/pkg/agent"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 3 * time.Minute
	// aWhile is how long something is seen not to happen: several times the second between an agent's two looks.
	aWhile           = 6 * time.Second
	agentNamespace   = "cattle-fleet-system"
	clusterNamespace = "cluster-fleet-default-edge"
	account          = "edge"
)

var (
	deployments = fleet.SchemeGroupVersion.WithResource("bundledeployments")
	contents    = fleet.SchemeGroupVersion.WithResource("contents")
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

// bed is a hub with one cluster, which is itself.
type bed struct {
	*stage.Cluster
	t *testing.T
}

func newBed(t *testing.T, options ...lab.Option) *bed {
	t.Helper()
	root, err := lab.FindRoot()
	require.NoError(t, err)
	s, err := stage.New(root, lab.New(t, options...))
	require.NoError(t, err)
	b := &bed{Cluster: s.Hub, t: t}
	require.NoError(t, s.Install(b.ctx(), s.Hub, "fleet-crd", "fleet-crd", agentNamespace, nil))
	b.grant()
	return b
}

func (b *bed) ctx() context.Context { return stage.Until(b.t, patience) }

func clusterRole(name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
}

// grantPlace gives the agent its rights in the cluster's namespace.
func (b *bed) grantPlace() {
	b.t.Helper()
	_, err := b.Kube.RbacV1().RoleBindings(clusterNamespace).Create(b.ctx(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account}, RoleRef: clusterRole("fleet-bundle-deployment"),
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agentNamespace, Name: account}},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

// grant is what the hub does when the cluster registers.
func (b *bed) grant() {
	b.t.Helper()
	b.namespace(clusterNamespace)
	b.namespace("apps")
	_, err := b.Kube.CoreV1().ServiceAccounts(agentNamespace).Create(b.ctx(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: agentNamespace, Name: account}}
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"fleet-bundle-deployment": {
			rule(fleet.SchemeGroupVersion.Group, []string{"bundledeployments"}, "get", "list", "watch"),
			rule(fleet.SchemeGroupVersion.Group, []string{"bundledeployments/status"}, "update", "patch"),
			rule("", []string{"secrets", "configmaps", "namespaces"}, "get"),
		},
		"fleet-content": {rule(fleet.SchemeGroupVersion.Group, []string{"contents"}, "get")},
	} {
		_, err := b.Kube.RbacV1().ClusterRoles().Create(b.ctx(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}, metav1.CreateOptions{})
		require.NoError(b.t, err)
	}
	b.grantPlace()
	_, err = b.Kube.RbacV1().ClusterRoleBindings().Create(b.ctx(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet-content"}, Subjects: subject, RoleRef: clusterRole("fleet-content"),
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
	kubeconfig, err := lab.ServiceAccountKubeconfig(b.ctx(), b.Config, agentNamespace, account, time.Hour, b.URL, b.CA())
	require.NoError(b.t, err)
	data, err := kubeconfig.Bytes()
	require.NoError(b.t, err)
	_, err = b.Kube.CoreV1().Secrets(agentNamespace).Create(b.ctx(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "fleet-agent"},
		Data: map[string][]byte{
			registration.KeyKubeconfig: data, registration.KeyDeploymentNamespace: []byte(clusterNamespace),
			registration.KeyClusterNamespace: []byte("fleet-default"), registration.KeyClusterName: []byte("edge"),
		},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

func (b *bed) namespace(name string) {
	b.t.Helper()
	_, err := b.Kube.CoreV1().Namespaces().Create(b.ctx(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(b.t, err)
	}
}

// noNamespace waits until one that was deleted is gone.
func (b *bed) noNamespace(name string) {
	b.t.Helper()
	stage.AwaitWithin(b.t, patience, "namespace "+name+" is gone", func(ctx context.Context) (bool, string, error) {
		_, err := b.Kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is there", err
	})
}

// agent runs one until it is stopped, at the latest with the test.
func (b *bed) agent() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- agent.Run(ctx, agent.Options{Kubeconfig: b.Kubeconfig(), Namespace: agentNamespace, Version: "test"})
	}()
	ended := false
	stop = func() {
		if !ended {
			ended = true
			cancel()
			require.NoError(b.t, <-done)
		}
	}
	b.t.Cleanup(stop)
	return stop
}

// deploy asks for a bundle of one ConfigMap of its own name.
func (b *bed) deploy(name string, change func(*fleet.BundleDeployment)) {
	b.t.Helper()
	b.deployText(name, strings.Join([]string{
		"apiVersion: v1", "kind: ConfigMap", "metadata: {name: " + name + "}", "data: {key: wanted}",
	}, "\n"), change)
}

// deployText asks for a bundle of one file.
func (b *bed) deployText(name, text string, change func(*fleet.BundleDeployment)) {
	b.t.Helper()
	manifest, err := content.New([]fleet.BundleResource{{Name: "file.yaml", Content: text}})
	require.NoError(b.t, err)
	object, err := manifest.Content()
	require.NoError(b.t, err)
	if found, err := stage.Get[fleet.Content](b.ctx(), b.Cluster, contents, "", object.Name); err == nil && found == nil {
		require.NoError(b.t, stage.Create(b.ctx(), b.Cluster, contents, "Content", "", object))
	}
	bd := &fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: name},
		Spec: fleet.BundleDeploymentSpec{
			DeploymentID: manifest.ID() + ":1", StagedDeploymentID: manifest.ID() + ":1",
			Options: fleet.BundleDeploymentOptions{DefaultNamespace: "apps"},
		},
	}
	if change != nil {
		change(bd)
	}
	require.NoError(b.t, stage.Create(b.ctx(), b.Cluster, deployments, "BundleDeployment", clusterNamespace, bd))
}

// isReady waits until a bundle is, and returns the UID of its ConfigMap.
func (b *bed) isReady(name string) types.UID {
	b.t.Helper()
	last := ""
	stage.AwaitWithin(b.t, patience, name+" is ready", func(ctx context.Context) (bool, string, error) {
		bd, err := stage.Get[fleet.BundleDeployment](ctx, b.Cluster, deployments, clusterNamespace, name)
		if err != nil || bd == nil {
			return false, "", err
		}
		last = stage.Conditions(bd.Status.Conditions)
		return bd.Status.Ready && bd.Status.NonModified && bd.Status.AppliedDeploymentID == bd.Spec.DeploymentID, last, nil
	})
	return b.uid(name)
}

// uid is that of the ConfigMap of a bundle, empty where there is none.
func (b *bed) uid(name string) types.UID {
	b.t.Helper()
	found, err := b.Kube.CoreV1().ConfigMaps("apps").Get(b.ctx(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(b.t, err)
	return found.UID
}

// remove is the hub's deletion of a bundle deployment.
func (b *bed) remove(name string) {
	b.t.Helper()
	require.NoError(b.t, b.Dynamic.Resource(deployments).Namespace(clusterNamespace).Delete(b.ctx(), name, metav1.DeleteOptions{}))
}

func (b *bed) isGone(name string) {
	b.t.Helper()
	stage.AwaitWithin(b.t, patience, name+" is gone", func(context.Context) (bool, string, error) {
		return b.uid(name) == "", "its ConfigMap is there", nil
	})
}
