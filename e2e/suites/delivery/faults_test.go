package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// valueOf is a patch of a bundle whose only resource is a ConfigMap "cm".
func valueOf(value string) string {
	return fmt.Sprintf(`{"spec":{"resources":[{"name":"cm.yaml","content":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {value: %s}\n"}]}}`, value)
}

// B12: a cluster that is known to be silent counts as no failure, and a rollout goes on to the others; it gets what it
// missed when it is back.
func TestSilentClusterBlocksNoRollout(t *testing.T) {
	b := theBed(t)
	const name = "rollout"
	bundle := newBundle(name, toBoth(), configMap("cm", "a"))
	bundle.Spec.RolloutStrategy = &fleet.RolloutStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	b.create(t, bundle)
	b.awaitReady(t, name, 2)

	require.NoError(t, b.nodes[two].Stop())
	back := func() {
		if b.nodes[two] == nil {
			node, err := b.RunPods(context.Background(), b.clusters[two])
			require.NoError(t, err)
			b.nodes[two] = node
		}
	}
	b.nodes[two] = nil
	t.Cleanup(back)
	_, err := b.AwaitCluster(stage.Until(t, patience), stage.Workspace, two, "is silent", func(c *fleet.Cluster) bool {
		connected := stage.Condition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return connected != nil && connected.Status == corev1.ConditionFalse
	})
	require.NoError(t, err)
	b.change(t, name, valueOf("b"))
	b.awaitValue(t, one, name, "cm", "b")
	value, err := b.value(t.Context(), two, name, "cm")
	require.NoError(t, err)
	require.Equal(t, "a", value)

	back()
	b.awaitReady(t, name, 2)
	b.awaitValue(t, two, name, "cm", "b")
}

// B11: a cluster that cannot be written to holds up none of the others, and costs none of them anything.
func TestClusterThatCannotBeWrittenHoldsUpNoOther(t *testing.T) {
	b := theBed(t)
	const name, ghost = "others", "ghost"
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: ghost, Labels: map[string]string{name: "yes"}},
	}))
	c, err := b.AwaitCluster(stage.Until(t, patience), stage.Workspace, ghost, "has a namespace", func(c *fleet.Cluster) bool { return c.Status.Namespace != "" })
	require.NoError(t, err)
	namespace := c.Status.Namespace
	await(t, "an object that holds the namespace", func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Kube.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "holder", Finalizers: []string{"example.com/held"}},
		}, metav1.CreateOptions{})
		return err == nil, "", err
	})
	t.Cleanup(func() {
		ctx := context.Background()
		_ = b.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Delete(ctx, ghost, metav1.DeleteOptions{})
		_, err := b.Hub.Kube.CoreV1().ConfigMaps(namespace).Patch(ctx, "holder", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	})
	require.NoError(t, b.Hub.Kube.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}))

	bundle := newBundle(name, toBoth(), configMap("cm", "a"))
	bundle.Spec.Targets = append(bundle.Spec.Targets, to(name, "yes"))
	b.create(t, bundle)
	for _, cluster := range []string{one, two} {
		b.awaitValue(t, cluster, name, "cm", "a")
	}
	b.change(t, name, valueOf("b"))
	for _, cluster := range []string{one, two} {
		b.awaitValue(t, cluster, name, "cm", "b")
	}
	b.awaitBundle(t, name, "says that one is not served", func(bundle *fleet.Bundle) bool {
		return bundle.Status.Summary.DesiredReady == 3 && bundle.Status.Summary.Ready == 2
	})
}

// B07, B10: an agent that cannot read the values yet waits for them; it never goes on without.
func TestValuesThatCannotBeReadYetAreWaitedFor(t *testing.T) {
	b := theBed(t)
	const name = "values"
	namespaces := map[string]bool{b.cluster(t, one).Status.Namespace: true, b.cluster(t, two).Status.Namespace: true}
	delay := b.line.Inject(shim.Rule{Fault: shim.Answer(404), Match: func(r shim.Request) bool {
		return r.Verb == "get" && r.Resource == "secrets" && r.Name == name && namespaces[r.Namespace]
	}})
	defer delay.Remove()
	bundle := newBundle(name, toBoth(), chart("values", "data: {value: {{ .Values.value | default \"blank\" | quote }}}")...)
	bundle.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"value": "given"}}}
	b.create(t, bundle)
	select {
	case <-delay.Done():
	case <-time.After(patience):
		t.Fatal("no agent asked for the values, so this shows nothing")
	}
	for range 5 {
		time.Sleep(time.Second) // the observation window
		for _, cluster := range []string{one, two} {
			value, err := b.value(t.Context(), cluster, name, "cm")
			require.NoError(t, err)
			require.Empty(t, value, "deployed without its values on %s", cluster)
		}
	}
	delay.Remove()
	b.awaitReady(t, name, 2)
	b.awaitValue(t, one, name, "cm", "given")
	b.awaitValue(t, two, name, "cm", "given")
}

// B18: what is lost is waited for or made anew, and takes nothing away: neither the content, nor a label that values need.
func TestLostInputTakesNothingAway(t *testing.T) {
	b := theBed(t)
	const name = "lost"
	bundle := newBundle(name, fleet.BundleTarget{ClusterName: one}, chart("lost", "data: {value: {{ .Values.region | quote }}}")...)
	bundle.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"region": "${ .ClusterLabels.region }"}}}
	b.label(t, one, "region", "north")
	b.create(t, bundle)
	b.awaitReady(t, name, 1)
	b.awaitValue(t, one, name, "cm", "north")
	before, err := b.deployment(t.Context(), name, one)
	require.NoError(t, err)

	b.label(t, one, "region", "")
	b.awaitBundle(t, name, "says which value is missing", func(bundle *fleet.Bundle) bool {
		ready := stage.Condition(bundle.Status.Conditions, "Ready")
		return ready != nil && ready.Status == corev1.ConditionFalse && strings.Contains(ready.Message, "region")
	})
	after, err := b.deployment(t.Context(), name, one)
	require.NoError(t, err)
	require.NotNil(t, after)
	require.Equal(t, before.Spec.DeploymentID, after.Spec.DeploymentID)
	b.label(t, one, "region", "north")
	b.awaitReady(t, name, 1)

	manifest, _, _ := strings.Cut(after.Spec.DeploymentID, ":")
	require.NoError(t, b.Hub.Dynamic.Resource(contents).Delete(t.Context(), manifest, metav1.DeleteOptions{}))
	b.label(t, one, "region", "south")
	b.awaitReady(t, name, 1)
	b.awaitValue(t, one, name, "cm", "south")
	_, err = b.Hub.Dynamic.Resource(contents).Get(t.Context(), manifest, metav1.GetOptions{})
	require.False(t, apierrors.IsNotFound(err), "the content is not made anew")
}

// X06: what changes in the moment in which all connections break is seen afterwards.
func TestChangesAtTheMomentOfACutAreSeen(t *testing.T) {
	b := theBed(t)
	const name = "cut"
	b.create(t, newBundle(name, toBoth(), configMap("cm", "start")))
	b.awaitReady(t, name, 2)
	rounds := stage.Reduced(t, "cuts at the moment of a change:", 5, 200)
	for i := range rounds {
		value := fmt.Sprintf("v%d", i)
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			b.line.Cut()
		}()
		b.change(t, name, valueOf(value))
		<-cut
		for _, cluster := range []string{one, two} {
			b.awaitValue(t, cluster, name, "cm", value)
		}
	}
	b.awaitReady(t, name, 2)
}
