package rancher_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// chart is one that Rancher delivers; its ConfigMap says what its values say.
func chart(b *bed, name string) rancher.ManagedChart {
	return rancher.ManagedChart{
		Name: name, Workspace: b.downstream.Workspace, Cluster: b.downstream.Name, Target: "managed-" + name,
		Values: map[string]any{"text": "first", "empty": map[string]any{}, "none": nil, "zero": 0},
		Chart: map[string]string{
			"Chart.yaml":        "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
			"values.yaml":       "text: default\n",
			"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {text: {{ .Values.text | quote }}}\n",
		},
	}
}

// awaitBundle waits for a Bundle's summary, as Rancher reads it.
func (b *bed) awaitBundle(t *testing.T, workspace, name string, done func(*fleet.Bundle) bool) *fleet.Bundle {
	t.Helper()
	var found *fleet.Bundle
	await(t, "Bundle "+name, func(ctx context.Context) (bool, string, error) {
		var err error
		found, err = stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, workspace, name)
		if err != nil || found == nil {
			return false, "there is none", err
		}
		return done(found), fmt.Sprintf("%+v %s", found.Status.Summary, stage.Conditions(found.Status.Conditions)), nil
	})
	return found
}

// isReady is how Rancher decides that a Bundle is where it should be.
func isReady(bundle *fleet.Bundle) bool {
	s := bundle.Status.Summary
	return bundle.Status.ObservedGeneration == bundle.Generation && s.DesiredReady == 1 && s.Ready == s.DesiredReady && stage.IsTrue(bundle.Status.Conditions, "Ready")
}

// A ManagedChart is delivered, takes over what is there, follows its values, and its deletion ends and takes it away.
func TestManagedChartsAreDelivered(t *testing.T) {
	b := theBed(t)
	ctx := stage.Until(t, 2*patience)
	m := chart(b, "web")
	_, err := b.edge.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.Target}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
	_, err = b.edge.Kube.CoreV1().ConfigMaps(m.Target).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, b.rancher.WriteManagedChart(ctx, m))
	bundle := b.awaitBundle(t, m.Workspace, m.BundleName(), isReady)
	assert.Equal(t, "1/1", bundle.Status.Display.ReadyClusters)
	b.awaitText(t, m, "first")

	m.Values["text"] = "second"
	require.NoError(t, b.rancher.WriteManagedChart(ctx, m))
	b.awaitText(t, m, "second")
	b.awaitBundle(t, m.Workspace, m.BundleName(), isReady)
	written := b.awaitBundle(t, m.Workspace, m.BundleName(), isReady)
	require.NoError(t, b.rancher.WriteManagedChart(ctx, m))
	assert.Equal(t, written.Generation, b.awaitBundle(t, m.Workspace, m.BundleName(), isReady).Generation, "the same again writes nothing")

	require.NoError(t, b.rancher.DeleteBundle(ctx, m.Workspace, m.BundleName()))
	b.awaitNoBundle(t, m.Workspace, m.BundleName())
	await(t, "the chart is taken away", func(ctx context.Context) (bool, string, error) {
		_, err := b.edge.Kube.CoreV1().ConfigMaps(m.Target).Get(ctx, m.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is there", err
	})
}

func (b *bed) awaitText(t *testing.T, m rancher.ManagedChart, text string) {
	t.Helper()
	await(t, "the cluster has "+text, func(ctx context.Context) (bool, string, error) {
		cm, err := b.edge.Kube.CoreV1().ConfigMaps(m.Target).Get(ctx, m.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return cm.Data["text"] == text, cm.Data["text"], nil
	})
}

func (b *bed) awaitNoBundle(t *testing.T, workspace, name string) {
	t.Helper()
	await(t, "Bundle "+name+" is gone", func(ctx context.Context) (bool, string, error) {
		found, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, workspace, name)
		return err == nil && found == nil, "it is there", err
	})
}

// Rancher takes the first of what is not ready without a look whether there is one; the user interface shows words that it
// knows. A failing chart shows both, on the Bundle, on the cluster and on its deployment.
func TestAFailureIsReadAsRancherReadsIt(t *testing.T) {
	b := theBed(t)
	m := chart(b, "broken")
	m.Chart["templates/cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n"
	require.NoError(t, b.rancher.WriteManagedChart(t.Context(), m))
	bundle := b.awaitBundle(t, m.Workspace, m.BundleName(), func(bundle *fleet.Bundle) bool { return bundle.Status.Summary.ErrApplied > 0 })
	require.NotEmpty(t, bundle.Status.Summary.NonReadyResources)
	assert.NotEmpty(t, bundle.Status.Summary.NonReadyResources[0].Message)
	assert.Equal(t, string(fleet.ErrApplied), bundle.Status.Display.State)
	_, err := b.AwaitCluster(stage.Until(t, patience), b.downstream.Workspace, b.downstream.Name, "it shows the failure", func(c *fleet.Cluster) bool {
		return c.Status.Summary.ErrApplied > 0 && c.Status.Display.State == string(fleet.ErrApplied)
	})
	require.NoError(t, err)
	require.NoError(t, b.rancher.DeleteBundle(t.Context(), m.Workspace, m.BundleName()))
	b.awaitNoBundle(t, m.Workspace, m.BundleName())
	_, err = b.AwaitCluster(stage.Until(t, patience), b.downstream.Workspace, b.downstream.Name, "the failure is gone", func(c *fleet.Cluster) bool {
		return c.Status.Summary.ErrApplied == 0 && c.Status.Display.State == ""
	})
	require.NoError(t, err)
}

// What the user interface pauses is told and not changed until it says so.
func TestThePauseOfTheUserInterfaceHolds(t *testing.T) {
	b := theBed(t)
	m := chart(b, "paused")
	require.NoError(t, b.rancher.WriteManagedChart(t.Context(), m))
	b.awaitText(t, m, "first")
	b.patch(t, b.downstream, `{"spec":{"paused":true}}`)
	m.Values["text"] = "second"
	require.NoError(t, b.rancher.WriteManagedChart(t.Context(), m))
	b.awaitBundle(t, m.Workspace, m.BundleName(), func(bundle *fleet.Bundle) bool { return bundle.Status.Summary.OutOfSync == 1 })
	b.awaitText(t, m, "first")
	require.NoError(t, b.rancher.WriteCluster(t.Context(), b.downstream))
	assert.True(t, b.get(t, b.downstream).Spec.Paused, "Rancher keeps the pause")
	b.patch(t, b.downstream, `{"spec":{"paused":false}}`)
	b.awaitText(t, m, "second")
	require.NoError(t, b.rancher.DeleteBundle(t.Context(), m.Workspace, m.BundleName()))
	b.awaitNoBundle(t, m.Workspace, m.BundleName())
}
