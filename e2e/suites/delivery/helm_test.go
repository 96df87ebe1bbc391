package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// chart is a Helm chart with one ConfigMap "cm", whose data is the text.
func chart(name, data string, more ...string) []fleet.BundleResource {
	about := "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" + strings.Join(more, "\n")
	return []fleet.BundleResource{
		file("Chart.yaml", about),
		file("templates/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n"+data+"\n"),
	}
}

// killAgents ends the agents of a cluster as a crash would; they are started again.
func (b *bed) killAgents(t *testing.T, cluster string) {
	t.Helper()
	for _, p := range b.nodes[cluster].Agents(stage.SystemNamespace) {
		require.NoError(t, p.Kill())
	}
}

// H01, H02: an agent that is killed while it installs, upgrades or uninstalls completes that afterwards; so it does when
// it is killed before it has begun to uninstall.
func TestKilledAgentCompletesWhatItBegan(t *testing.T) {
	b := theBed(t)
	rounds := stage.Reduced(t, "agents killed:", 2, 25)
	for i := range rounds {
		name := fmt.Sprintf("killed-%d", i)
		b.create(t, newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a")))
		await(t, "the release is begun", func(context.Context) (bool, string, error) {
			return len(b.releases(t, one, name)) > 0, "no release", nil
		})
		b.killAgents(t, one)
		b.awaitReady(t, name, 1)
		b.change(t, name, valueOf("b"))
		await(t, "the upgrade is begun", func(context.Context) (bool, string, error) {
			return len(b.releases(t, one, name)) > 1, "one revision", nil
		})
		b.killAgents(t, one)
		b.awaitReady(t, name, 1)
		b.awaitValue(t, one, name, "cm", "b")
		b.remove(t, name)
		if i%2 > 0 {
			await(t, "the removal is begun", func(context.Context) (bool, string, error) {
				for _, record := range b.releases(t, one, name) {
					if record.Labels["status"] != "uninstalling" {
						return false, "it is " + record.Labels["status"], nil
					}
				}
				return true, "", nil
			})
		}
		b.killAgents(t, one)
		b.awaitValue(t, one, name, "cm", "")
		await(t, "no record is left", func(context.Context) (bool, string, error) {
			left := b.releases(t, one, name)
			return len(left) == 0, fmt.Sprintf("%d records", len(left)), nil
		})
	}
}

// H04: an upgrade that fails leaves what runs, says why, and the next one can do better.
func TestFailedUpgradeRemovesNothing(t *testing.T) {
	b := theBed(t)
	const name = "failing"
	b.create(t, newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a")))
	b.awaitReady(t, name, 1)
	b.change(t, name, `{"spec":{"resources":[
		{"name":"cm.yaml","content":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {value: b}\n"},
		{"name":"bad.yaml","content":"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec: {replicas: many}\n"}]}}`)
	b.awaitBundle(t, name, "says why the upgrade failed", func(bundle *fleet.Bundle) bool {
		ready := stage.Condition(bundle.Status.Conditions, "Ready")
		return bundle.Status.ObservedGeneration == bundle.Generation && ready != nil && ready.Status == "False" &&
			(strings.Contains(ready.Message, "bad") || strings.Contains(ready.Message, "replicas"))
	})
	value, err := b.value(t.Context(), one, name, "cm")
	require.NoError(t, err)
	require.NotEmpty(t, value, "what ran is removed")
	require.NotEmpty(t, b.releases(t, one, name))
	b.change(t, name, valueOf("c"))
	b.awaitReady(t, name, 1)
	b.awaitValue(t, one, name, "cm", "c")
}

// H07: two releases of one name in two namespaces are two.
func TestOneReleaseNameInTwoNamespaces(t *testing.T) {
	b := theBed(t)
	for _, name := range []string{"same-a", "same-b"} {
		bundle := newBundle(name, fleet.BundleTarget{ClusterName: one}, chart("same", "data: {value: "+name+"}")...)
		bundle.Spec.Helm = &fleet.HelmOptions{ReleaseName: "same"}
		b.create(t, bundle)
	}
	for _, name := range []string{"same-a", "same-b"} {
		b.awaitReady(t, name, 1)
		b.awaitValue(t, one, name, "cm", name)
	}
	b.remove(t, "same-a")
	b.awaitValue(t, one, "same-a", "cm", "")
	b.awaitValue(t, one, "same-b", "cm", "same-b")
	b.awaitReady(t, "same-b", 1)
}

// B19: a chart sees the version of the cluster that it is for.
func TestChartsSeeTheVersionOfTheirCluster(t *testing.T) {
	b := theBed(t)
	target := fleet.BundleTarget{ClusterName: one}
	b.create(t, newBundle("for-this", target, chart("for-this", "data: {value: a}", `kubeVersion: ">=1.36.0-0"`)...))
	b.create(t, newBundle("for-later", target, chart("for-later", "data: {value: a}", `kubeVersion: ">=1.99.0-0"`)...))
	b.awaitReady(t, "for-this", 1)
	b.awaitBundle(t, "for-later", "says that the cluster is too old", func(bundle *fleet.Bundle) bool {
		ready := stage.Condition(bundle.Status.Conditions, "Ready")
		return ready != nil && ready.Status == "False" && strings.Contains(ready.Message, "1.99")
	})
}

// H05: what others change or delete is seen in every mode, and set back where that is asked for.
func TestDriftIsSeenAndCorrected(t *testing.T) {
	b := theBed(t)
	for _, mode := range []struct {
		name    string
		correct *fleet.CorrectDrift
	}{{"reported", nil}, {"corrected", &fleet.CorrectDrift{Enabled: true}}, {"forced", &fleet.CorrectDrift{Enabled: true, Force: true}}} {
		t.Run(mode.name, func(t *testing.T) {
			name := "drift-" + mode.name
			bundle := newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"), configMap("other", "a"))
			bundle.Spec.CorrectDrift = mode.correct
			b.create(t, bundle)
			b.awaitReady(t, name, 1)
			maps := b.clusters[one].Kube.CoreV1().ConfigMaps(name)
			_, err := maps.Patch(t.Context(), "cm", types.MergePatchType, []byte(`{"data":{"value":"changed","added":"x"}}`), metav1.PatchOptions{})
			require.NoError(t, err)
			require.NoError(t, maps.Delete(t.Context(), "other", metav1.DeleteOptions{}))
			if mode.correct == nil {
				b.awaitBundle(t, name, "names what was changed", func(bundle *fleet.Bundle) bool {
					ready := stage.Condition(bundle.Status.Conditions, "Ready")
					return bundle.Status.Summary.Modified == 1 && strings.Contains(ready.Message, "other missing") && strings.Contains(ready.Message, "cm modified")
				})
				return
			}
			b.awaitValue(t, one, name, "cm", "a")
			b.awaitValue(t, one, name, "other", "a")
			b.awaitReady(t, name, 1)
		})
	}
}

// H08: corrections leave no more history than was asked for.
func TestCorrectionsKeepTheHistoryBounded(t *testing.T) {
	b := theBed(t)
	const name = "history"
	bundle := newBundle(name, fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"))
	bundle.Spec.CorrectDrift = &fleet.CorrectDrift{Enabled: true}
	bundle.Spec.Helm = &fleet.HelmOptions{MaxHistory: 3}
	b.create(t, bundle)
	b.awaitReady(t, name, 1)
	maps := b.clusters[one].Kube.CoreV1().ConfigMaps(name)
	for i := range 5 { // more would wait for minutes between two corrections; suite helm makes hundreds
		_, err := maps.Patch(t.Context(), "cm", types.MergePatchType, []byte(fmt.Sprintf(`{"data":{"value":"changed-%d"}}`, i)), metav1.PatchOptions{})
		require.NoError(t, err)
		b.awaitValue(t, one, name, "cm", "a")
	}
	b.awaitReady(t, name, 1)
	require.LessOrEqual(t, len(b.releases(t, one, name)), 3)
}
