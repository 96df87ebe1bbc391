package agentmanifest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rancher/wrangler/v3/pkg/yaml"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// A02: the import applies Objects, the bundle carries BundleYAML.
func TestImportAndBundleGiveTheSamePodTemplate(t *testing.T) {
	for name, o := range map[string]Options{"minimal": minimal(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			manifest, err := BundleYAML(o)
			require.NoError(t, err)
			var bundled appsv1.Deployment
			decode(t, manifest, "Deployment", &bundled)
			imported := mustDeployment(t, o)
			require.True(t, equality.Semantic.DeepEqual(imported, &bundled), "%v\n%v", imported, bundled)
			require.Equal(t, export(t, imported), export(t, &bundled))
		})
	}
}

func decode(t *testing.T, manifest, kind string, into any) {
	t.Helper()
	objects, err := yaml.ToObjects(strings.NewReader(manifest))
	require.NoError(t, err)
	for _, object := range objects {
		if object.GetObjectKind().GroupVersionKind().Kind == kind {
			content := object.(*unstructured.Unstructured).Object
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, into))
			return
		}
	}
	require.Fail(t, "not in the manifest", kind)
}

func TestDocumentsAreSeparated(t *testing.T) {
	manifest, err := BundleYAML(full())
	require.NoError(t, err)
	require.Len(t, strings.Split(manifest, "\n---\n"), 8)
	require.NotContains(t, manifest, "creationTimestamp")
	require.NotContains(t, manifest, "status:")
}

// An agent that joined by itself has nobody else who would bring it its PriorityClass, without which its pod is refused.
func TestTheBundleBringsThePriorityClassBeforeWhatNamesIt(t *testing.T) {
	o := minimal()
	require.Nil(t, BundleDiff(o))
	o.PriorityClass = &fleet.PriorityClassSpec{Value: 7}
	manifest, err := BundleYAML(o)
	require.NoError(t, err)
	class, deployment := strings.Index(manifest, "kind: PriorityClass\n"), strings.Index(manifest, "kind: Deployment\n")
	require.Positive(t, class)
	require.Less(t, class, deployment)
	require.NotContains(t, manifest, "PodDisruptionBudget")
	diff := BundleDiff(o)
	require.Len(t, diff.ComparePatches, 1)
	require.Equal(t, "PriorityClass", diff.ComparePatches[0].Kind)
	require.Equal(t, "fleet-agent-priority-class", diff.ComparePatches[0].Name)

	o = minimal()
	o.DisruptionBudget = &fleet.PodDisruptionBudgetSpec{MaxUnavailable: "1"}
	manifest, err = BundleYAML(o)
	require.NoError(t, err)
	require.Contains(t, manifest, "kind: PodDisruptionBudget\n")
	require.NotContains(t, manifest, "PriorityClass")
}

// P02
func TestVariablesOfOneClusterStayInItsBundle(t *testing.T) {
	other, err := BundleYAML(minimal())
	require.NoError(t, err)
	require.NotContains(t, other, "PROXY")
}

func FuzzBundleYAML(f *testing.F) {
	f.Add("private.io", "KEY", "a\n---\nb: c\n", "taint", "v", int64(5), "1", "0")
	f.Add("", "A", "\u0085\u2028\x00: x", "a/b", "", int64(-1), "", "")
	f.Add("", "A", "\u2028\ufeff\t: ' \" |\r\n  x ", "a/b", "", int64(-1), "", "")
	f.Add("", "", "", "", "", int64(1)<<62+1, "x", "101%")
	f.Add("https://u:p@private.io/a/../b", "A", "{{ .Values }} $(B) %s", "k", "*", int64(0), "0%", "00")
	f.Add("\x1b[2J", "\u202e", "\xed\xa0\x80", strings.Repeat("k", 400), strings.Repeat("v", 400), int64(9007199254740993), "1%%", "9999999999999999999")
	f.Add("private.io", "A", "yes", "null", "~", int64(1), "007", "")
	f.Fuzz(func(t *testing.T, prefix, name, value, key, taint string, seconds int64, minAvailable, maxUnavailable string) {
		o := minimal()
		o.PrivateRepoURL = prefix
		o.EnvVars = []corev1.EnvVar{{Name: name, Value: value}}
		o.Tolerations = []corev1.Toleration{
			{Key: key, Value: taint, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}}
		o.DisruptionBudget = &fleet.PodDisruptionBudgetSpec{MinAvailable: minAvailable, MaxUnavailable: maxUnavailable}
		manifest, err := BundleYAML(o)
		if err != nil {
			require.Empty(t, manifest)
			checkProblem(t, err)
			return
		}
		again, err := BundleYAML(o)
		require.NoError(t, err)
		require.Equal(t, manifest, again)
		require.Len(t, strings.Split(manifest, "\n---\n"), 7)
		var d appsv1.Deployment
		decode(t, manifest, "Deployment", &d)
		require.Equal(t, seconds, *d.Spec.Template.Spec.Tolerations[2].TolerationSeconds)
		if utf8.ValidString(name) && utf8.ValidString(value) {
			require.Equal(t, value, variable(t, d.Spec.Template.Spec, name).Value)
		}
	})
}
