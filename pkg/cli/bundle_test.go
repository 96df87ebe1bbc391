package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/kube/kubetest"
	"github.com/rancher/fleet/pkg/names"
)

// deliveryKinds are those that targeting rests on, besides what every hub has.
func deliveryKinds() []kubetest.Kind {
	kinds := kubetest.HubKinds()
	for name, resource := range map[string]string{"BundleNamespaceMapping": fleet.BundleNamespaceMappingResourceName, "GitRepoRestriction": fleet.GitRepoRestrictionResourceName} {
		kinds = append(kinds, kubetest.Kind{GroupVersionKind: fleet.SchemeGroupVersion.WithKind(name), Resource: resource, Namespaced: true})
	}
	return kinds
}

func newDeliveryHub(t *testing.T) *testHub { return newTestHub(t, "", deliveryKinds()...) }

// hosts puts a cluster with its namespace.
func (h *testHub) hosts(name string, labels map[string]string) {
	place := names.ClusterNamespace("fleet-default", name)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: place, Annotations: map[string]string{
		names.ClusterNamespaceAnnotation: "fleet-default", names.ClusterAnnotation: name}}}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	h.Put(ns)
	h.put("Cluster", aCluster("fleet-default", name, func(c *fleet.Cluster) {
		c.UID, c.Labels, c.Status.Namespace = types.UID(name), labels, place
	}))
}

var inProd = map[string]string{"env": "prod"}

func aBundle(text string, change ...func(*fleet.Bundle)) *fleet.Bundle {
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "app", Generation: 1, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	b.Spec.Resources = []fleet.BundleResource{{Name: "app.yaml", Content: text}}
	b.Spec.Targets = []fleet.BundleTarget{{Name: "prod", ClusterSelector: &metav1.LabelSelector{MatchLabels: inProd}}}
	b.Status.ObservedGeneration = 1
	for _, fn := range change {
		fn(b)
	}
	return b
}

const configMapYAML = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: \"one\\ttwo\"}\n"

// written puts a bundle's file for commands that read one.
func written(t *testing.T, b *fleet.Bundle) string {
	t.Helper()
	b.APIVersion, b.Kind = fleet.SchemeGroupVersion.String(), "Bundle"
	text, err := yaml.Marshal(b)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "bundle.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// delivered puts a bundle, and deployments of it that clusters run, as the hub would.
func (h *testHub) delivered(b *fleet.Bundle) []*fleet.BundleDeployment {
	h.t.Helper()
	h.put("Bundle", b)
	person, err := newHub(h.kubeconfig, "")
	require.NoError(h.t, err)
	facts, err := readBundle(h.t.Context(), person, b)
	require.NoError(h.t, err)
	look := delivery.At(facts)
	require.NoError(h.t, look.Problem)
	h.put("Content", look.Content.Object())
	made, missing := look.Deployments(func(string, string) bool { return true })
	require.Empty(h.t, missing)
	for _, bd := range made {
		bd.Finalizers = []string{names.BundleDeploymentFinalizer}
		bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = bd.Spec.DeploymentID, true, true
		h.put("BundleDeployment", bd)
	}
	return made
}

func TestBundlesAreListed(t *testing.T) {
	h := newDeliveryHub(t)
	h.put("Bundle", aBundle("x", func(b *fleet.Bundle) {
		b.Status.Display = fleet.BundleDisplay{ReadyClusters: "1/2", State: "NotReady"}
		b.Status.Conditions = append(b.Status.Conditions, conditionNow(fleet.BundleConditionReady, corev1.ConditionFalse, "", "NotReady(1) [Cluster \x1bone]"))
	}))
	h.put("Bundle", aBundle("x", func(b *fleet.Bundle) { b.Namespace, b.Spec.Paused = "team", true }))
	code, out, errOut := typed("bundle", "list")
	require.Zero(t, code, errOut)
	rows := cells(out)
	assert.Equal(t, []string{"WORKSPACE", "NAME", "STATE", "CLUSTERS READY", "AGE", "WAITS FOR"}, rows[0])
	assert.Equal(t, []string{"fleet-default", "app", "NotReady", "1/2"}, rows[1][:4])
	assert.Equal(t, "NotReady(1) [Cluster ?one]", rows[1][5])
	assert.Equal(t, []string{"team", "app", "Ready, paused", "0/0"}, rows[2][:4])

	code, out, _ = typed("bundle", "list", "-n", "team", "-o", "json")
	require.Zero(t, code)
	var list items[delivery.Row]
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Items, 1)
	assert.Equal(t, "team", list.Items[0].Workspace)

	_, out, _ = typed("bundle", "list", "-n", "nothing")
	assert.Equal(t, "There are no bundles in workspace nothing.\n", out)
}

func TestExplainTellsHowFarABundleIs(t *testing.T) {
	h := newDeliveryHub(t)
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		h.hosts(name, inProd)
	}
	h.hosts("lab", nil)
	made := h.delivered(aBundle(configMapYAML, func(b *fleet.Bundle) {
		b.Spec.RolloutStrategy = &fleet.RolloutStrategy{Partitions: []fleet.Partition{{Name: "canary", ClusterName: "edge-2"}}}
	}))
	made[1].Status.Ready, made[1].Status.NonReadyStatus = false, []fleet.NonReadyStatus{{Kind: "Deployment", Namespace: "default", Name: "web"}}
	made[1].Status.NonReadyStatus[0].Summary.State = "in-progress"
	h.put("BundleDeployment", made[1])
	made[2].Status.AppliedDeploymentID = ""
	made[2].Status.Conditions = append(made[2].Status.Conditions, conditionNow(fleet.BundleDeploymentConditionDeployed, corev1.ConditionFalse, "Error", "no matches for kind \x1b[31mX"))
	h.put("BundleDeployment", made[2])

	code, out, errOut := typed("bundle", "explain", "app", "-o", "json")
	require.Zero(t, code, errOut)
	var told delivery.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	assert.Equal(t, "ErrApplied", told.State)
	assert.Empty(t, told.Unknown)
	var text bytes.Buffer
	require.NoError(t, printBundle(&text, told, now))
	assert.NotContains(t, text.String(), "\x1b")
	golden(t, "bundle-explain", text.String())
}

func TestExplainOfABundleForWhoMayReadOnlyPart(t *testing.T) {
	h := newDeliveryHub(t)
	h.hosts("edge-1", inProd)
	h.delivered(aBundle(configMapYAML))
	h.identify("jane", forbids("/bundledeployments", "/gitreporestrictions", "/api/v1/namespaces"))
	code, out, errOut := typed("bundle", "explain", "fleet-default/app", "-o", "json")
	require.Zero(t, code, errOut)
	var told delivery.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	assert.Len(t, told.Unknown, 3)
	assert.Len(t, told.Clusters, 1)

	code, _, errOut = typed("bundle", "explain", "nope")
	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "there is no Bundle nope in workspace fleet-default")
}
