package cases

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// leaver is a connected cluster with a bundle of plain objects and a chart, whose release lies in the namespace of its name.
type leaver struct {
	*bed
	at                 place
	name, plain, chart string
	hub                string
}

func newLeaver(t *testing.T, onDelete string, more ...fleet.BundleResource) (l leaver, kill func()) {
	t.Helper()
	b := shared(t)
	l = leaver{bed: b, at: newPlace(), name: "edge"}
	b.manage(t, l.at, l.name)
	agent := b.agent(t, l.at, "agent-0")
	l.hub = b.connected(t, l.at, l.name).Status.Namespace
	l.plain, l.chart = "plain-"+l.at.workspace, "chart-"+l.at.workspace
	b.deliver(t, l.at, l.plain, l.name)
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", l.at.workspace, &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.at.workspace, Name: l.chart},
		Spec: fleet.BundleSpec{
			BundleDeploymentOptions: fleet.BundleDeploymentOptions{DefaultNamespace: l.chart},
			Resources: append([]fleet.BundleResource{
				{Name: "Chart.yaml", Content: "apiVersion: v2\nname: some\nversion: 1.0.0\n"},
				{Name: "templates/cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n"},
			}, more...),
			Targets: []fleet.BundleTarget{{ClusterName: l.name}},
		},
	}))
	for _, object := range l.objects() {
		await(t, "object of bundle "+object.Namespace+"/"+object.Name, func(ctx context.Context) (bool, string, error) {
			found, err := l.find(ctx, object)
			return found != nil, "", err
		})
	}
	for _, bundle := range []string{l.plain, l.chart} {
		await(t, bundle+" is ready", func(ctx context.Context) (bool, string, error) {
			bd, err := stage.Get[fleet.BundleDeployment](ctx, b.Hub, deployments, l.hub, bundle)
			return bd != nil && bd.Status.Ready, "", err
		})
	}
	patch := fmt.Sprintf(`{"spec":{"onDelete":%q}}`, onDelete)
	_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(l.at.workspace).Patch(t.Context(), l.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	return l, func() {
		t.Helper()
		require.NoError(t, agent.Kill())
		<-agent.Done()
	}
}

// objects are one of each bundle.
func (l leaver) objects() []types.NamespacedName {
	return []types.NamespacedName{{Namespace: "default", Name: l.plain}, {Namespace: l.chart, Name: "cm"}}
}

func (l leaver) find(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	found, err := l.edge.Kube.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// uids are those of the objects that are there.
func (l leaver) uids(t *testing.T) (there []types.UID) {
	t.Helper()
	for _, object := range l.objects() {
		found, err := l.find(t.Context(), object)
		require.NoError(t, err)
		if found != nil {
			there = append(there, found.UID)
		}
	}
	return there
}

func (l leaver) awaitEnd(t *testing.T) {
	t.Helper()
	await(t, "the end of the Cluster", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, l.Hub, stage.Clusters, l.at.workspace, l.name)
		if err != nil || c == nil {
			return err == nil, "", err
		}
		bundles := ""
		if b := c.Status.Agent.Bundles; b != nil {
			bundles = fmt.Sprintf("%+v", *b)
		}
		return false, stage.Conditions(c.Status.Conditions) + bundles, nil
	})
}

// awaitNone waits until none of the deployments but the agent's own is there.
func (l leaver) awaitNone(t *testing.T) {
	t.Helper()
	await(t, "the end of the deployments", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.BundleDeployment](ctx, l.Hub, deployments, l.hub)
		var names []string
		for _, bd := range list {
			if bd.Name == l.plain || bd.Name == l.chart {
				names = append(names, bd.Name)
			}
		}
		return len(names) == 0, strings.Join(names, ", "), err
	})
}

// told are the messages of the warnings about what a removal left.
func (l leaver) told(t *testing.T) string {
	t.Helper()
	var messages []string
	await(t, "the warning", func(ctx context.Context) (bool, string, error) {
		list, err := l.Hub.Kube.CoreV1().Events(l.at.workspace).List(ctx, metav1.ListOptions{FieldSelector: "reason=RemovalIncomplete"})
		if err != nil {
			return false, "", err
		}
		for _, e := range list.Items {
			messages = append(messages, e.Message)
		}
		return len(messages) > 0, "no event", nil
	})
	return strings.Join(messages, "\n")
}

// hurry has leaving clusters waited for only so long, until the test ends.
func (b *bed) hurry(t *testing.T, timeout time.Duration) {
	t.Helper()
	set := func(ctx context.Context, value string) error {
		return b.Configure(ctx, func(config map[string]any) { config["clusterOnDeleteTimeout"] = value })
	}
	require.NoError(t, set(t.Context(), timeout.String()))
	t.Cleanup(func() { require.NoError(t, set(context.Background(), "5m")) })
}

func TestAClusterThatIsToBeEmptyLosesItsBundlesFirst(t *testing.T) {
	l, _ := newLeaver(t, "remove")
	stillThere := l.userObject(t)
	l.deleteCluster(t, l.at.workspace, l.name)
	l.awaitEnd(t)
	assert.Empty(t, l.uids(t))
	stillThere()
	agent, err := l.edge.Kube.AppsV1().Deployments(l.at.agents).Get(t.Context(), "fleet-agent", metav1.GetOptions{})
	require.NoError(t, err, "the agent itself stays")
	assert.Nil(t, agent.DeletionTimestamp)
	records, err := l.edge.Kube.CoreV1().Secrets(l.chart).List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	require.NoError(t, err)
	assert.Empty(t, records.Items)
	events, err := l.Hub.Kube.CoreV1().Events(l.at.workspace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=RemovalIncomplete"})
	require.NoError(t, err)
	assert.Empty(t, events.Items)
}

func TestAClusterThatIsToKeepItsBundlesKeepsThem(t *testing.T) {
	l, _ := newLeaver(t, "keep")
	before := l.uids(t)
	require.Len(t, before, 2)
	l.deleteCluster(t, l.at.workspace, l.name)
	l.awaitEnd(t)
	require.Never(t, func() bool { return len(l.uids(t)) < 2 }, window, window/20)
	assert.Equal(t, before, l.uids(t))
}

// What an agent was to remove while it was away stays when it comes back too late: a refusal removes nothing.
func TestAnAgentThatComesTooLateRemovesNothing(t *testing.T) {
	l, kill := newLeaver(t, "remove")
	before := l.uids(t)
	l.hurry(t, 5*time.Second)
	kill()
	l.deleteCluster(t, l.at.workspace, l.name)
	l.awaitEnd(t)
	assert.Contains(t, l.told(t), "the time for that ended")

	late := l.agent(t, l.at, "agent-1")
	await(t, "the agent hears that it is refused", func(context.Context) (bool, string, error) {
		return strings.Contains(late.Tail(200), "refuse"), late.Tail(5), nil
	})
	require.Never(t, func() bool { return len(l.uids(t)) < 2 }, window, window/20)
	assert.Equal(t, before, l.uids(t))
}

// Neither the hub nor the agent has to be there for the other's part.
func TestARemovalGoesOnWhenHubAndAgentTakeTurns(t *testing.T) {
	l, kill := newLeaver(t, "remove")
	kill()
	l.deleteCluster(t, l.at.workspace, l.name)
	l.awaitNone(t)
	_, err := l.controller.Stop(grace)
	require.NoError(t, err)
	assert.Len(t, l.uids(t), 2)

	l.agent(t, l.at, "agent-1")
	await(t, "the agent says that nothing is left", func(ctx context.Context) (bool, string, error) {
		c, err := stage.Get[fleet.Cluster](ctx, l.Hub, stage.Clusters, l.at.workspace, l.name)
		if err != nil || c == nil {
			return false, "the Cluster is gone", err
		}
		b := c.Status.Agent.Bundles
		return b != nil && b.Count == 0, fmt.Sprintf("%+v", b), nil
	})
	assert.Empty(t, l.uids(t))
	l.restartController(t)
	l.awaitEnd(t)
}

// Nobody runs the Pods of this cluster: a hook before the removal has no end.
func TestABundleThatCannotBeRemovedHoldsAClusterForABoundedTime(t *testing.T) {
	l, _ := newLeaver(t, "remove", fleet.BundleResource{Name: "templates/job.yaml", Content: `apiVersion: batch/v1
kind: Job
metadata: {name: never, annotations: {helm.sh/hook: pre-delete}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: never, image: none}]}}}
`})
	l.hurry(t, 15*time.Second)
	l.deleteCluster(t, l.at.workspace, l.name)
	l.awaitEnd(t)
	said := l.told(t)
	assert.Contains(t, said, "1 bundles ("+l.chart+")")
	assert.NotContains(t, said, l.plain)
	assert.Len(t, l.uids(t), 1, "the other is removed")
}
