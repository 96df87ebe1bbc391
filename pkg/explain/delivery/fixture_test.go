package delivery

import (
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/names"
)

const workspace = "ws"

func cluster(name string, labels map[string]string) *fleet.Cluster {
	return &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Status:     fleet.ClusterStatus{Namespace: names.ClusterNamespace(workspace, name)},
	}
}

func bundle(files ...string) *fleet.Bundle {
	b := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "app", Generation: 1}}
	for _, file := range files {
		name, text, _ := strings.Cut(file, "=")
		b.Spec.Resources = append(b.Spec.Resources, fleet.BundleResource{Name: name, Content: text})
	}
	b.Spec.Targets = []fleet.BundleTarget{{Name: "prod", ClusterSelector: &metav1.LabelSelector{MatchLabels: prod}}}
	b.Status.ObservedGeneration = 1
	return b
}

var prod = map[string]string{"env": "prod"}

// world has clusters that run an earlier version of the bundle, and their namespaces.
func world(t *testing.T, earlier *fleet.Bundle, clusters ...*fleet.Cluster) Facts {
	t.Helper()
	facts := Facts{Namespaces: map[string]*corev1.Namespace{}}
	facts.Bundle, facts.Clusters = earlier, clusters
	for _, c := range clusters {
		facts.Namespaces[c.Status.Namespace] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: c.Status.Namespace, Annotations: map[string]string{names.ClusterNamespaceAnnotation: c.Namespace, names.ClusterAnnotation: c.Name},
		}}
	}
	look := At(facts)
	require.NoError(t, look.Problem)
	for _, target := range look.Targets {
		bd, err := look.built(target)
		require.NoError(t, err)
		bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = bd.Spec.DeploymentID, true, true
		facts.Deployments = append(facts.Deployments, bd)
	}
	manifest, err := content.New(earlier.Spec.Resources)
	require.NoError(t, err)
	facts.Contents = map[string]*content.Manifest{manifest.ID(): manifest}
	return facts
}

func says(bd *fleet.BundleDeployment, kind, message string) {
	bd.Status.Conditions = append(bd.Status.Conditions, genericcondition.GenericCondition{Type: kind, Status: "False", Message: message})
}
