package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// workload is a Deployment that the stand-in for a node keeps from getting ready.
func workload(name string) fleet.BundleResource {
	return file(name+".yaml", fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {%[2]s: "the test says so"}}
    spec: {containers: [{name: c, image: nginx}]}
`, name, node.Hold))
}

// letGo lets the held Pods of a namespace get ready.
func (b *bed) letGo(t *testing.T, cluster, namespace string) {
	t.Helper()
	pods := b.clusters[cluster].Kube.CoreV1().Pods(namespace)
	await(t, "the Pods of "+namespace+" are let go", func(ctx context.Context) (bool, string, error) {
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return false, "no Pods", err
		}
		for _, pod := range list.Items {
			if _, err := pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+node.Hold+`":null}}}`), metav1.PatchOptions{}); err != nil {
				return false, "", err
			}
		}
		return true, "", nil
	})
}

// B13, B14: what depends on a bundle waits until that is ready, says what it waits for, and then goes on by itself.
func TestDependentWaitsForReadinessAndThenGoesOn(t *testing.T) {
	b := theBed(t)
	b.create(t, newBundle("base", fleet.BundleTarget{ClusterName: one}, workload("slow")))
	dependent := newBundle("dependent", fleet.BundleTarget{ClusterName: one}, configMap("cm", "a"))
	dependent.Spec.DependsOn = []fleet.BundleRef{{Name: "base"}}
	b.create(t, dependent)
	b.awaitDeployment(t, "base", one, "is applied and not ready", func(bd *fleet.BundleDeployment) bool {
		return bd.Status.AppliedDeploymentID == bd.Spec.DeploymentID && !bd.Status.Ready
	})
	b.awaitDeployment(t, "dependent", one, "says what it waits for", func(bd *fleet.BundleDeployment) bool {
		deployed := stage.Condition(bd.Status.Conditions, "Deployed")
		return deployed != nil && deployed.Status == "False" && deployed.Message != "" && bd.Status.AppliedDeploymentID == ""
	})
	value, err := b.value(t.Context(), one, "dependent", "cm")
	require.NoError(t, err)
	require.Empty(t, value)

	b.letGo(t, one, "base")
	began := time.Now()
	b.awaitReady(t, "base", 1)
	b.awaitReady(t, "dependent", 1)
	within(t, 30*time.Second, began, "the dependency got ready, and the dependent")
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: %[1]s, singular: %[2]s, kind: %[3]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// B15: a definition and its objects come in any order, in one bundle or in two; the definition stays when the bundle goes
// (H09), and nothing else does.
func TestDefinitionsComeBeforeTheirObjectsAndStayBehind(t *testing.T) {
	b := theBed(t)
	target := fleet.BundleTarget{ClusterName: one}
	object := file("a-object.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 1}\n")
	b.create(t, newBundle("widgets", target, object, file("z-crd.yaml", fmt.Sprintf(definition, "widgets", "widget", "Widget")), configMap("cm", "a")))
	b.awaitReady(t, "widgets", 1)

	objects := newBundle("gadget", target, file("object.yaml", "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: g}\n"))
	objects.Spec.DependsOn = []fleet.BundleRef{{Name: "gadgets"}}
	b.create(t, objects)
	b.create(t, newBundle("gadgets", target, file("crd.yaml", fmt.Sprintf(definition, "gadgets", "gadget", "Gadget"))))
	b.awaitReady(t, "gadget", 1)

	b.remove(t, "widgets")
	b.awaitValue(t, one, "widgets", "cm", "")
	_, err := b.clusters[one].Dynamic.Resource(stage.Definitions).Get(t.Context(), "widgets.example.com", metav1.GetOptions{})
	require.NoError(t, err, "a definition stays, with what others made of it")
}
