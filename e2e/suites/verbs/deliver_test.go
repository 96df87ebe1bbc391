package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain/delivery"
)

// list is a list as commands print it for programs.
type list[T any] struct {
	Items []T `json:"items"`
}

// A person sees what a bundle would do before it is stored, how far it is afterwards, what would be removed, and deploys it
// by hand. The hub agrees with what was foretold.
func TestAPersonSeesWhatABundleDoesBeforeAndAfter(t *testing.T) {
	b := newBed(t)
	ctx := until(t)
	for name, env := range map[string]string{"prod-1": "prod", "test-1": "test"} {
		require.NoError(t, stage.Create(ctx, b.Hub, stage.Clusters, "Cluster", workspace, &fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"env": env}},
		}))
		await(t, "a namespace for "+name, func() (bool, string) {
			c, err := stage.Get[fleet.Cluster](until(t), b.Hub, stage.Clusters, workspace, name)
			return err == nil && c != nil && c.Status.Namespace != "", ""
		})
	}
	defer leavesNothing(t, b)
	app := deliverable("one")
	file := bundleFile(t, app)
	assert.Equal(t, map[string]delivery.Action{"prod-1": delivery.Create}, foretold(t, b, file))

	require.NoError(t, stage.Create(ctx, b.Hub, stage.Bundles, "Bundle", workspace, app))
	var told delivery.Explanation
	await(t, "the deployment that was foretold", func() (bool, string) {
		told = read[delivery.Explanation](t, b, "bundle", "explain", app.Name)
		return len(told.Clusters) == 1 && told.Clusters[0].Step == delivery.StepReleased && !told.Behind, told.State
	})
	assert.Equal(t, "prod-1", told.Clusters[0].Name)
	assert.Equal(t, fleet.WaitApplied, told.Clusters[0].State)
	assert.Empty(t, told.Unknown)
	assert.Equal(t, map[string]delivery.Action{"prod-1": delivery.Same}, foretold(t, b, file), "the hub made what was foretold, to the byte")

	moved := deliverable("two")
	moved.Spec.Targets[0].ClusterSelector.MatchLabels["env"] = "test"
	assert.Equal(t, map[string]delivery.Action{"prod-1": delivery.Remove, "test-1": delivery.Create}, foretold(t, b, bundleFile(t, moved)))
	deployedByHand(t, b, file)
}

// leavesNothing takes the clusters and their bundle away: others list what there is.
func leavesNothing(t *testing.T, b *bed) {
	t.Helper()
	ctx := t.Context()
	for _, resource := range []schema.GroupVersionResource{stage.Bundles, stage.Clusters} {
		objects := b.Hub.Dynamic.Resource(resource).Namespace(workspace)
		require.NoError(t, objects.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		await(t, "the end of "+resource.Resource, func() (bool, string) {
			left, err := objects.List(ctx, metav1.ListOptions{})
			return err == nil && len(left.Items) == 0, ""
		})
	}
}

func deliverable(text string) *fleet.Bundle {
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "app"}}
	b.Spec.Resources = []fleet.BundleResource{{Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: by-hand}\ndata: {k: " + text + "}\n"}}
	b.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"name": "${ .ClusterName }"}}}
	b.Spec.Targets = []fleet.BundleTarget{{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}}
	return b
}

func bundleFile(t *testing.T, b *fleet.Bundle) string {
	t.Helper()
	text, err := yaml.Marshal(b)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "bundle.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// foretold is what would happen on each cluster.
func foretold(t *testing.T, b *bed, file string) map[string]delivery.Action {
	t.Helper()
	found := map[string]delivery.Action{}
	for _, change := range read[list[delivery.DeploymentChange]](t, b, "target", "-b", file, "--diff").Items {
		found[change.Cluster] = change.Action
	}
	return found
}

// deployedByHand deploys to the hub itself, as if it were the cluster.
func deployedByHand(t *testing.T, b *bed, file string) {
	t.Helper()
	const namespace = "by-hand"
	input := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(input, []byte(b.succeeds(t, "target", "-b", file, "--cluster", "prod-1")), 0o600))
	diff := func() (actions []delivery.Action) {
		var changes list[delivery.ObjectChange]
		require.NoError(t, json.Unmarshal([]byte(b.succeeds(t, "deploy", "-i", input, "-n", namespace, "--diff", "-o", "json")), &changes))
		for _, change := range changes.Items {
			actions = append(actions, change.Action)
		}
		return actions
	}
	assert.Equal(t, []delivery.Action{delivery.Create}, diff())
	assert.Contains(t, b.succeeds(t, "deploy", "-i", input, "-n", namespace), "release by-hand/app:1")
	cm, err := b.Hub.Kube.CoreV1().ConfigMaps(namespace).Get(until(t), "by-hand", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "one", cm.Data["k"])
	assert.Equal(t, []delivery.Action{delivery.Same}, diff())
}
