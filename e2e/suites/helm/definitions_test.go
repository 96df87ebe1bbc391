package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

func definition(group, versions string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets." + group + "}\nspec:\n" +
		"  group: " + group + "\n  scope: Namespaced\n  names: {kind: Widget, plural: widgets, singular: widget}\n  versions:\n" + versions
}

func version(name, storage string) string {
	return "  - name: " + name + "\n    served: true\n    storage: " + storage +
		"\n    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
}

func widget(group, version, name string) string {
	return "apiVersion: " + group + "/" + version + "\nkind: Widget\nmetadata: {name: " + name + "}\nspec: {size: 3}\n"
}

// B15: a definition and its objects come in one bundle, in whatever order, and a later version of both does too.
func TestADefinitionAndItsObjectsComeInOneBundle(t *testing.T) {
	b := newBed(t)
	const group = "one.example.com"
	deployed := b.deploy(b.bundle("one", widget(group, "v1", "a"), definition(group, version("v1", "true")), configMap("c", "x")))
	require.Len(t, deployed.Objects, 3)
	b.hasWidget(group, "v1", "a", true)

	job := b.bundle("one", widget(group, "v2", "b"), definition(group, version("v1", "true")+version("v2", "false")))
	job.Release = deployed.ID
	b.deploy(job)
	b.hasWidget(group, "v2", "b", true)
	b.hasWidget(group, "v1", "a", false)

	require.NoError(t, b.Uninstall(b.ctx(), "one"))
	b.hasWidget(group, "v1", "b", false)
	_, err := b.Dynamic.Resource(definitions).Get(b.ctx(), "widgets."+group, metav1.GetOptions{})
	require.NoError(t, err, "the definition is kept")
}

// What a chart has in its crds folder is made first, also where the bundle has a target namespace, and also by the upgrade
// that completes an install.
func TestTheDefinitionsOfAChartComeFirst(t *testing.T) {
	b := newBed(t)
	const group = "two.example.com"
	job := helmdeployer.Job{Name: "two", Options: fleet.BundleDeploymentOptions{TargetNamespace: b.namespace}}
	job.Files = append(job.Files,
		file("Chart.yaml", "apiVersion: v2\nname: two\nversion: 1.0.0\n"),
		file("crds/widgets.yaml", definition(group, version("v1", "true"))),
		file("templates/widget.yaml", widget(group, "v1", "{{ .Release.Name }}")),
	)
	b.deploy(job)
	b.hasWidget(group, "v1", "two", true)
}

// A definition that comes by another bundle is found as soon as it is there.
func TestAKindThatComesLaterIsFound(t *testing.T) {
	b := newBed(t)
	const group = "three.example.com"
	_, err := b.Deploy(b.ctx(), b.bundle("object", widget(group, "v1", "a")))
	require.ErrorContains(t, err, "is not served by the cluster")
	assert.False(t, helmdeployer.IsFinal(err), "it is tried again")
	b.deploy(b.bundle("definition", definition(group, version("v1", "true"))))
	b.deploy(b.bundle("object", widget(group, "v1", "a")))
	b.hasWidget(group, "v1", "a", true)
}

// A kind that is gone does not stop the bundle that had objects of it.
func TestAKindThatIsGoneStopsNoUpgrade(t *testing.T) {
	b := newBed(t)
	const group = "four.example.com"
	b.deploy(b.bundle("definition", definition(group, version("v1", "true"))))
	b.deploy(b.bundle("object", widget(group, "v1", "a"), configMap("c", "x")))
	require.NoError(t, b.Dynamic.Resource(definitions).Delete(b.ctx(), "widgets."+group, metav1.DeleteOptions{}))
	b.deployEventually(b.bundle("object", configMap("c", "two")))
	assert.Equal(t, "two", b.value("c"))
	require.NoError(t, b.Uninstall(b.ctx(), "object"))
}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func (b *bed) hasWidget(group, version, name string, want bool) {
	b.t.Helper()
	at := schema.GroupVersionResource{Group: group, Version: version, Resource: "widgets"}
	_, err := b.Dynamic.Resource(at).Namespace(b.namespace).Get(b.ctx(), name, metav1.GetOptions{})
	assert.Equal(b.t, want, err == nil, "widget %s: %v", name, err)
}
