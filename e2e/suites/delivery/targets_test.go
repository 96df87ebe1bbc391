package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// retarget is how long a change of labels or targets may take to be followed; expected are one or two seconds.
const retarget = 10 * time.Second

// within judges how long something took, where the machine is idle enough for a judgement.
func within(t *testing.T, limit time.Duration, began time.Time, what string) {
	t.Helper()
	took := time.Since(began)
	t.Logf("%s: %s", what, took.Round(time.Millisecond))
	assert.Less(t, took, limit, what)
}

// B01, B05: a label or a target that changes adds and removes, on the hub and on the clusters.
func TestBundlesFollowLabelsAndTargets(t *testing.T) {
	b := theBed(t)
	const name = "follow"
	b.create(t, newBundle(name, to(name, "yes"), configMap("cm", "a")))
	for _, cluster := range []string{one, two} {
		b.label(t, cluster, name, "yes")
	}
	b.awaitReady(t, name, 2)
	kept, err := b.deployment(t.Context(), name, two)
	require.NoError(t, err)

	began := time.Now()
	b.label(t, one, name, "")
	b.awaitNoDeployment(t, name, one)
	within(t, retarget, began, "the label is gone, and the deployment")
	b.awaitValue(t, one, name, "cm", "")
	b.awaitReady(t, name, 1)

	began = time.Now()
	b.label(t, one, name, "yes")
	b.awaitReady(t, name, 2)
	within(t, 2*retarget, began, "the label is back, and the deployment ready")
	b.awaitValue(t, one, name, "cm", "a")

	began = time.Now()
	b.change(t, name, `{"spec":{"targets":[{"clusterName":"two"}]}}`)
	b.awaitNoDeployment(t, name, one)
	within(t, retarget, began, "the targets are fewer, and the deployments")
	b.awaitReady(t, name, 1)
	still, err := b.deployment(t.Context(), name, two)
	require.NoError(t, err)
	require.Equal(t, kept.UID, still.UID, "what is targeted all the time stays")
}

// group makes a ClusterGroup by a label.
func (b *bed) group(t *testing.T, name, key, value string) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, groups, "ClusterGroup", stage.Workspace, &fleet.ClusterGroup{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       fleet.ClusterGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}},
	}))
	t.Cleanup(func() {
		_ = b.Hub.Dynamic.Resource(groups).Namespace(stage.Workspace).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

// awaitGroup waits until a group counts so many clusters.
func (b *bed) awaitGroup(t *testing.T, name string, clusters int) {
	t.Helper()
	await(t, fmt.Sprintf("group %s counts %d clusters", name, clusters), func(ctx context.Context) (bool, string, error) {
		group, err := stage.Get[fleet.ClusterGroup](ctx, b.Hub, groups, stage.Workspace, name)
		if err != nil || group == nil {
			return false, "there is none", err
		}
		return group.Status.ClusterCount == clusters, fmt.Sprint(group.Status.ClusterCount), nil
	})
}

// B02, B03: a cluster that moves from one group to another loses what the first has, gets what the second has, and keeps
// what both have.
func TestClusterMovesBetweenGroups(t *testing.T) {
	b := theBed(t)
	b.group(t, "first", "group", "first")
	b.group(t, "second", "group", "second")
	b.label(t, one, "group", "first")
	for _, bundle := range []struct {
		name   string
		groups []string
	}{{"of-first", []string{"first"}}, {"of-second", []string{"second"}}, {"of-both", []string{"first", "second"}}} {
		made := newBundle(bundle.name, fleet.BundleTarget{ClusterGroup: bundle.groups[0]}, configMap("cm", "a"))
		for _, more := range bundle.groups[1:] {
			made.Spec.Targets = append(made.Spec.Targets, fleet.BundleTarget{ClusterGroup: more})
		}
		b.create(t, made)
	}
	b.awaitReady(t, "of-first", 1)
	b.awaitReady(t, "of-both", 1)
	b.awaitGroup(t, "first", 1)
	b.awaitGroup(t, "second", 0)
	kept, err := b.deployment(t.Context(), "of-both", one)
	require.NoError(t, err)

	b.label(t, one, "group", "second")
	b.awaitNoDeployment(t, "of-first", one)
	b.awaitReady(t, "of-second", 1)
	b.awaitGroup(t, "first", 0)
	b.awaitGroup(t, "second", 1)
	still, err := b.deployment(t.Context(), "of-both", one)
	require.NoError(t, err)
	require.Equal(t, kept.UID, still.UID)
}

// B04: doNotDeploy holds wherever it stands, at any time.
func TestDoNotDeployHoldsWhereverItStands(t *testing.T) {
	b := theBed(t)
	const name = "exclude"
	bundle := newBundle(name, toBoth(), configMap("cm", "a"))
	never := to(name, "never")
	never.DoNotDeploy = true
	bundle.Spec.Targets = append(bundle.Spec.Targets, never)
	b.create(t, bundle)
	b.awaitReady(t, name, 2)
	b.label(t, two, name, "never")
	b.awaitNoDeployment(t, name, two)
	b.awaitReady(t, name, 1)
	b.label(t, two, name, "")
	b.awaitReady(t, name, 2)
}

// B06: what is deleted by hand is made again and counted once.
func TestDeploymentsDeletedByHandComeBackAndAreCountedOnce(t *testing.T) {
	b := theBed(t)
	const name = "byhand"
	b.create(t, newBundle(name, toBoth(), configMap("cm", "a")))
	b.awaitReady(t, name, 2)
	old, err := b.deployment(t.Context(), name, one)
	require.NoError(t, err)
	require.NoError(t, b.Hub.Dynamic.Resource(deployments).Namespace(old.Namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	b.awaitDeployment(t, name, one, "is another, and ready", func(bd *fleet.BundleDeployment) bool { return bd.UID != old.UID && applied(bd) })
	b.awaitReady(t, name, 2)
	b.awaitValue(t, one, name, "cm", "a")
	await(t, "the clusters count what there is", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, b.Hub, stage.Clusters, stage.Workspace, one)
		if err != nil {
			return false, "", err
		}
		list, err := stage.List[fleet.BundleDeployment](ctx, b.Hub, deployments, c.Status.Namespace)
		return c.Status.Summary.DesiredReady == len(list), fmt.Sprintf("%d of %d", c.Status.Summary.DesiredReady, len(list)), err
	})
}
