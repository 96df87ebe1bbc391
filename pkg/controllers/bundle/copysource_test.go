package bundle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
)

// withSecondWorkspace lets the bundles of ws2 to the clusters of ws; each has a Secret and a ConfigMap of the same names.
func withSecondWorkspace(w *world) {
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workspace, Labels: map[string]string{"open": "yes"}}})
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ws2"}})
	w.mappings.Add(&fleet.BundleNamespaceMapping{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ws2", Name: "m"}, BundleSelector: &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"open": "yes"}},
	})
	w.addCluster("a", prod)
	for _, namespace := range []string{workspace, "ws2"} {
		secret := pullSecret("of " + namespace)
		secret.Namespace = namespace
		w.secrets.Add(secret)
		w.configMaps.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"k": namespace}})
	}
}

func (w *world) addSecond(change ...func(*fleet.Bundle)) {
	change = append(change, func(b *fleet.Bundle) { b.Namespace, b.Name, b.UID = "ws2", "app2", "uid-of-app2" })
	w.bundles.Add(newBundle(change...))
}

func (w *world) lookAtSecond() error {
	_, err := w.h.onChange("ws2/app2", w.bundles.Live("ws2", "app2"))
	return err
}

func (w *world) copied() string {
	w.t.Helper()
	secret := w.secrets.Live(placeOf("a"), "pull")
	require.NotNil(w.t, secret)
	return string(secret.Data[".dockercfg"])
}

// Two workspaces that a mapping brings together copy objects of the same names to one cluster.
func TestTwoWorkspacesDoNotOverwriteEachOthersCopies(t *testing.T) {
	for name, what := range map[string]fleet.DownstreamResource{"Secret": pull, "ConfigMap": settings} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			withSecondWorkspace(w)
			w.bundles.Add(newBundle(copying(what)))
			w.addSecond(copying(what))
			w.mustLook()
			w.agentsReport()
			require.Error(t, w.lookAtSecond())
			assert.Nil(t, w.deployments.Live(placeOf("a"), "app2"), "it would get the other's")
			message := w.bundles.Live("ws2", "app2").Status.Conditions[0].Message
			assert.Contains(t, message, "is the copy of that of namespace ws")
			w.takeCalls()
			for range 3 {
				w.mustLook()
				require.Error(t, w.lookAtSecond())
			}
			for _, call := range w.takeCalls() {
				assert.NotContains(t, call, "update secret")
				assert.NotContains(t, call, "update configmap")
			}
		})
	}
}

// Before sources were noted, both may have been deployed.
func TestACopyWithoutASourceBecomesThatOfOneOfTwo(t *testing.T) {
	w := newWorld(t)
	withSecondWorkspace(w)
	w.bundles.Add(newBundle(copying(pull)))
	w.mustLook()
	forget := func() {
		bare := w.secrets.Live(placeOf("a"), "pull").DeepCopy()
		bare.Annotations = nil
		w.secrets.Add(bare)
		w.h = newHandler(w.h.Deps)
	}
	forget()
	w.addSecond(copying(pull))
	require.NoError(t, w.lookAtSecond())
	require.NotNil(t, w.deployments.Live(placeOf("a"), "app2"))
	forget()
	writes := 0
	for range 5 {
		before := w.secrets.Live(placeOf("a"), "pull")
		_ = w.look()
		_ = w.lookAtSecond()
		if w.secrets.Live(placeOf("a"), "pull").ResourceVersion != before.ResourceVersion {
			writes++
		}
	}
	assert.Equal(t, 1, writes)
	assert.Equal(t, "of ws", w.copied(), "of the one that came first")
}

func TestACopyThatItsSourcesNamespaceNeedsNoMoreIsTakenOver(t *testing.T) {
	w := newWorld(t)
	withSecondWorkspace(w)
	made := pullSecret("of ws")
	made.Namespace, made.CreationTimestamp = placeOf("a"), metav1.NewTime(now.Add(-time.Second))
	made.Labels = map[string]string{deployment.CopyLabel: "true"}
	made.Annotations = map[string]string{names.CopiedFromAnnotation: workspace}
	w.secrets.Add(made)
	w.addSecond(copying(pull))
	require.Error(t, w.lookAtSecond(), "the deployment that it was made for may be on its way")
	assert.Equal(t, "of ws", w.copied())
	w.clock.SetTime(now.Add(youngCopy))
	require.NoError(t, w.lookAtSecond())
	assert.Equal(t, "of ws2", w.copied())
}
