package delivery

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// actions are the actions by cluster, or by namespace where no cluster is known.
func actions(list []DeploymentChange) map[string]Action {
	found := map[string]Action{}
	for _, c := range list {
		key := c.Cluster
		if key == "" {
			key = c.Namespace
		}
		found[key] = c.Action
	}
	return found
}

func changeAt(t *testing.T, list []DeploymentChange, cluster string) DeploymentChange {
	t.Helper()
	for _, c := range list {
		if c.Cluster == cluster {
			return c
		}
	}
	require.Fail(t, "no change of "+cluster)
	return DeploymentChange{}
}

func TestWhatIsStoredAlreadyChangesNothing(t *testing.T) {
	facts := world(t, bundle("a.yaml=kind: A"), cluster("one", prod), cluster("two", prod), cluster("other", nil))
	assert.Equal(t, map[string]Action{"one": Same, "two": Same}, actions(At(facts).Changes()))
}

func TestChangesNameWhatDiffers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.Bundle)
		fields []string
	}{
		"content":   {func(b *fleet.Bundle) { b.Spec.Resources[0].Content = "kind: B" }, []string{"content"}},
		"values":    {func(b *fleet.Bundle) { b.Spec.Helm = withValue("secret-value") }, []string{"helm.values"}},
		"namespace": {func(b *fleet.Bundle) { b.Spec.DefaultNamespace = "apps" }, []string{"defaultNamespace"}},
		"release":   {func(b *fleet.Bundle) { b.Spec.Helm = &fleet.HelmOptions{ReleaseName: "x"} }, []string{"helm.releaseName"}},
		"paused":    {func(b *fleet.Bundle) { b.Spec.Paused = true }, []string{"paused"}},
		"labels":    {func(b *fleet.Bundle) { b.Labels = map[string]string{"x": "y"} }, []string{"labels"}},
		"depends":   {func(b *fleet.Bundle) { b.Spec.DependsOn = []fleet.BundleRef{{Name: "x"}} }, []string{"dependsOn"}},
	} {
		facts := world(t, bundle("a.yaml=kind: A"), cluster("one", prod))
		facts.Bundle = facts.Bundle.DeepCopy()
		test.change(facts.Bundle)
		c := changeAt(t, At(facts).Changes(), "one")
		assert.Equal(t, Change, c.Action, name)
		assert.Equal(t, test.fields, c.Fields, name)
		assert.NotContains(t, c.Reason, "secret-value")
	}
}

func withValue(value string) *fleet.HelmOptions {
	return &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"k": value}}}
}

func TestFilesThatDifferAreListed(t *testing.T) {
	facts := world(t, bundle("a.yaml=1", "b.yaml=1", "c.yaml=1"), cluster("one", prod))
	facts.Bundle = bundle("a.yaml=1", "b.yaml=2", "d.yaml=1")
	c := changeAt(t, At(facts).Changes(), "one")
	assert.Equal(t, []string{"d.yaml"}, c.Added)
	assert.Equal(t, []string{"b.yaml"}, c.Changed)
	assert.Equal(t, []string{"c.yaml"}, c.Removed)

	facts.Contents = nil
	c = changeAt(t, At(facts).Changes(), "one")
	assert.Equal(t, []string{"content"}, c.Fields)
	assert.Empty(t, c.Added)
}

// What is removed is told before it happens, and what is not certain is kept.
func TestRemovalsAreTold(t *testing.T) {
	one, two := cluster("one", prod), cluster("two", prod)
	facts := world(t, bundle("a.yaml=1"), one, two, cluster("three", prod))
	facts.Clusters[0] = cluster("one", map[string]string{"env": "test"})
	facts.Clusters[1] = two.DeepCopy()
	facts.Clusters[1].Labels, facts.Clusters[1].Spec.Revoked = nil, true
	changes := At(facts).Changes()
	assert.Equal(t, map[string]Action{"one": Remove, "two": Keep, "three": Same}, actions(changes))
	assert.Equal(t, Remove, changes[0].Action, "it stands first")
	assert.Contains(t, changes[0].Reason, "no longer targets")

	facts.Bundle = facts.Bundle.DeepCopy()
	facts.Bundle.Spec.Targets = append(facts.Bundle.Spec.Targets, fleet.BundleTarget{ClusterGroup: "gone"})
	assert.Contains(t, changeAt(t, At(facts).Changes(), "one").Reason, "if there is a ClusterGroup ws/gone after all")

	facts.Bundle.Spec.ValuesHash = "0"
	assert.Equal(t, map[string]Action{"one": Keep, "two": Keep, "three": Keep}, actions(At(facts).Changes()), "a bundle that cannot be read removes nothing")
}

func TestTheRolloutHoldsBack(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("a", prod), cluster("b", prod), cluster("c", prod))
	facts.Bundle = bundle("a.yaml=2")
	one := intstr.FromInt32(1)
	facts.Bundle.Spec.RolloutStrategy = &fleet.RolloutStrategy{
		MaxUnavailable: &one,
		Partitions:     []fleet.Partition{{Name: "first", ClusterName: "b", MaxUnavailable: new(intstr.IntOrString)}},
	}
	changes := At(facts).Changes()
	assert.Equal(t, map[string]Action{"a": Wait, "b": Change, "c": Wait}, actions(changes))
	assert.Contains(t, changeAt(t, changes, "a").Reason, `the partition "first" comes first`)

	facts.Bundle.Spec.Paused = true
	assert.Equal(t, Stage, changeAt(t, At(facts).Changes(), "b").Action)
}

func TestAClusterWithoutAPlaceWaits(t *testing.T) {
	homeless, thief := cluster("homeless", prod), cluster("thief", prod)
	homeless.Status.Namespace = ""
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod))
	thief.Status.Namespace = names.ClusterNamespace(workspace, "one")
	facts.Clusters = append(facts.Clusters, homeless, thief, cluster("new", prod))
	facts.Namespaces[names.ClusterNamespace(workspace, "new")] = facts.Namespaces[names.ClusterNamespace(workspace, "one")].DeepCopy()
	facts.Namespaces[names.ClusterNamespace(workspace, "new")].Name = names.ClusterNamespace(workspace, "new")
	facts.Namespaces[names.ClusterNamespace(workspace, "new")].Annotations = map[string]string{names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: "new"}
	changes := At(facts).Changes()
	found := actions(changes)
	assert.Equal(t, Create, found["new"])
	assert.Equal(t, Wait, found["homeless"])
	assert.Equal(t, Wait, found["thief"])
	assert.Contains(t, changeAt(t, changes, "thief").Reason, "is not the cluster's")
}

func TestAnotherBundleOfTheNameIsInTheWay(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod))
	facts.Deployments[0].Labels[fleet.BundleNamespaceLabel] = "elsewhere"
	c := changeAt(t, At(facts).Changes(), "one")
	assert.Equal(t, Wait, c.Action)
	assert.Contains(t, c.Reason, "belongs to the bundle of that name in namespace elsewhere")
}

func TestDeploymentsAreComplete(t *testing.T) {
	b := bundle("a.yaml=1")
	b.Spec.Helm = withValue("${ .ClusterName }")
	broken := cluster("broken", prod)
	broken.Status.Namespace = ""
	facts := world(t, b, cluster("one", prod), broken)
	made, missing := At(facts).Deployments(func(string, string) bool { return true })
	require.Len(t, made, 1)
	assert.Equal(t, "one", made[0].Spec.Options.Helm.Values.Data["k"])
	assert.Empty(t, made[0].Spec.ValuesHash)
	assert.Equal(t, made[0].Spec.DeploymentID, made[0].Spec.StagedDeploymentID)
	assert.Len(t, missing, 1)
	made, missing = At(facts).Deployments(func(_, name string) bool { return name == "two" })
	assert.Empty(t, made)
	assert.Empty(t, missing)
}

func object(kind, name string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"namespace": "apps", "name": name}, "data": map[string]any{"k": "v"},
	}}
	for _, fn := range change {
		fn(obj)
	}
	return obj
}

func TestReleaseChanges(t *testing.T) {
	annotated := func(key, value string) func(*unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{key: value}) }
	}
	edited := func(u *unstructured.Unstructured) { u.Object["data"] = map[string]any{"k": "hidden"} }
	before := []*unstructured.Unstructured{
		object("ConfigMap", "same"), object("Secret", "edited"), object("ConfigMap", "gone"), object("ConfigMap", "stays", annotated(keepPolicy, "keep")),
	}
	after := []*unstructured.Unstructured{
		object("ConfigMap", "same"), object("Secret", "edited", edited), object("ConfigMap", "new"), object("ConfigMap", "there"),
		object("Job", "hook", annotated(hookMark, "pre-install")),
	}
	changes := ReleaseChanges(before, after, func(obj *unstructured.Unstructured) bool { return obj.GetName() == "there" })
	var told []string
	for _, c := range changes {
		told = append(told, string(c.Action)+" "+c.Name)
	}
	assert.Equal(t, []string{"create new", "take over there", "change edited", "remove gone", "keep stays", "run hook", "same same"}, told)
	assert.Equal(t, []string{"data.k"}, changes[2].Fields)
}
