package delivery_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var (
	deployments = fleet.SchemeGroupVersion.WithResource("bundledeployments")
	contents    = fleet.SchemeGroupVersion.WithResource("contents")
	groups      = fleet.SchemeGroupVersion.WithResource("clustergroups")
)

// file is one of a bundle's resources.
func file(name, content string) fleet.BundleResource {
	return fleet.BundleResource{Name: name, Content: content}
}

// configMap is a manifest of a ConfigMap with one value.
func configMap(name, value string) fleet.BundleResource {
	return file(name+".yaml", fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %q}\n", name, value))
}

// to targets clusters by a label.
func to(key, value string) fleet.BundleTarget {
	return fleet.BundleTarget{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}
}

// toBoth targets both clusters.
func toBoth() fleet.BundleTarget { return to("env", "prod") }

// newBundle is a bundle whose release goes to the namespace of its name.
func newBundle(name string, target fleet.BundleTarget, resources ...fleet.BundleResource) *fleet.Bundle {
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.DefaultNamespace = name
	b.Spec.Resources, b.Spec.Targets = resources, []fleet.BundleTarget{target}
	return b
}

// create gives a bundle to the hub, and takes it away at the end of the test.
func (b *bed) create(t *testing.T, bundle *fleet.Bundle) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", stage.Workspace, bundle))
	t.Cleanup(func() { b.remove(t, bundle.Name) })
}

// remove takes a bundle away and waits until its deployments are gone.
func (b *bed) remove(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := b.Hub.Dynamic.Resource(stage.Bundles).Namespace(stage.Workspace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	require.NoError(t, err)
	require.NoError(t, stage.Await(ctx, "the end of bundle "+name, func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, name)
		return err == nil && bundle == nil, "it is there", err
	}))
}

// change patches a bundle.
func (b *bed) change(t *testing.T, name, patch string) {
	t.Helper()
	_, err := b.Hub.Dynamic.Resource(stage.Bundles).Namespace(stage.Workspace).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// label changes the labels of a cluster, and back at the end of the test.
func (b *bed) label(t *testing.T, cluster, key, value string) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, key, value)
		_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Patch(ctx, cluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	if value == "" {
		require.NoError(t, set(t.Context(), "null"))
		return
	}
	require.NoError(t, set(t.Context(), fmt.Sprintf("%q", value)))
	t.Cleanup(func() { require.NoError(t, set(context.Background(), "null")) })
}

// bundle reads a bundle.
func (b *bed) bundle(ctx context.Context, name string) (*fleet.Bundle, error) {
	bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, name)
	if err == nil && bundle == nil {
		err = fmt.Errorf("there is no bundle %s", name)
	}
	return bundle, err
}

// awaitBundle looks at a bundle until done is satisfied.
func (b *bed) awaitBundle(t *testing.T, name, what string, done func(*fleet.Bundle) bool) *fleet.Bundle {
	t.Helper()
	var seen *fleet.Bundle
	await(t, "bundle "+name+": "+what, func(ctx context.Context) (bool, string, error) {
		bundle, err := b.bundle(ctx, name)
		if err != nil {
			return false, "", err
		}
		seen = bundle
		return done(bundle), fmt.Sprintf("%s %+v %s", bundle.Status.Display.ReadyClusters, bundle.Status.Summary, stage.Conditions(bundle.Status.Conditions)), nil
	})
	return seen
}

// awaitReady waits until the last change of a bundle is ready on so many clusters.
func (b *bed) awaitReady(t *testing.T, name string, clusters int) {
	t.Helper()
	b.awaitBundle(t, name, fmt.Sprintf("is ready on %d clusters", clusters), func(bundle *fleet.Bundle) bool {
		return isReady(bundle, clusters)
	})
}

func isReady(bundle *fleet.Bundle, clusters int) bool {
	return bundle.Status.ObservedGeneration == bundle.Generation && bundle.Status.Summary.DesiredReady == clusters &&
		bundle.Status.Summary.Ready == clusters && stage.IsTrue(bundle.Status.Conditions, "Ready")
}

// deployment is that of a bundle on a cluster; nil if there is none.
func (b *bed) deployment(ctx context.Context, name, cluster string) (*fleet.BundleDeployment, error) {
	c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, stage.Workspace, cluster)
	if err != nil || c == nil {
		return nil, err
	}
	return stage.Get[fleet.BundleDeployment](ctx, b.Hub, deployments, c.Status.Namespace, name)
}

// awaitDeployment looks at a deployment until done is satisfied.
func (b *bed) awaitDeployment(t *testing.T, name, cluster, what string, done func(*fleet.BundleDeployment) bool) *fleet.BundleDeployment {
	t.Helper()
	var seen *fleet.BundleDeployment
	await(t, fmt.Sprintf("deployment of %s on %s: %s", name, cluster, what), func(ctx context.Context) (bool, string, error) {
		bd, err := b.deployment(ctx, name, cluster)
		if err != nil || bd == nil {
			return false, "there is none", err
		}
		seen = bd
		return done(bd), fmt.Sprintf("applied %q, release %q, ready %t, not modified %t, %s", bd.Status.AppliedDeploymentID, bd.Status.Release,
			bd.Status.Ready, bd.Status.NonModified, stage.Conditions(bd.Status.Conditions)), nil
	})
	return seen
}

func (b *bed) awaitNoDeployment(t *testing.T, name, cluster string) {
	t.Helper()
	await(t, fmt.Sprintf("no deployment of %s on %s", name, cluster), func(ctx context.Context) (bool, string, error) {
		bd, err := b.deployment(ctx, name, cluster)
		return err == nil && bd == nil, "there is one", err
	})
}

// applied says that a deployment is what it should be.
func applied(bd *fleet.BundleDeployment) bool {
	return bd.Status.AppliedDeploymentID == bd.Spec.DeploymentID && bd.Status.Ready && bd.Status.NonModified
}

// value is that of a ConfigMap on a cluster; empty where there is none.
func (b *bed) value(ctx context.Context, cluster, namespace, name string) (string, error) {
	cm, err := b.clusters[cluster].Kube.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return cm.Data["value"], nil
}

// awaitValue waits for the value of a ConfigMap on a cluster; empty means that there is none.
func (b *bed) awaitValue(t *testing.T, cluster, namespace, name, want string) {
	t.Helper()
	await(t, fmt.Sprintf("ConfigMap %s/%s on %s has %q", namespace, name, cluster, want), func(ctx context.Context) (bool, string, error) {
		got, err := b.value(ctx, cluster, namespace, name)
		return err == nil && got == want, fmt.Sprintf("%q", got), err
	})
}

// releases are the revisions of Helm releases in a namespace on a cluster.
func (b *bed) releases(t *testing.T, cluster, namespace string) []corev1.Secret {
	t.Helper()
	list, err := b.clusters[cluster].Kube.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	require.NoError(t, err)
	return list.Items
}
