package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agentbundle"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// agents is a world with a cluster and the bundle of its agent.
func agents(t *testing.T) (*world, *fleet.Cluster, *fleet.Bundle) {
	t.Helper()
	w := newWorld(t)
	c := w.addCluster("a", prod)
	w.h.Agents = agentbundle.NewLedger()
	w.h.Agents.OnWritten(w.h.wakeAgentBundle)
	return w, c, newBundle(func(b *fleet.Bundle) {
		b.Name = names.AgentBundle("a")
		b.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "a", UID: c.UID}}
	})
}

func (w *world) lookAt(b *fleet.Bundle) {
	w.t.Helper()
	live := w.bundles.Live(b.Namespace, b.Name)
	_, err := w.h.onChange(b.Namespace+"/"+b.Name, live)
	require.NoError(w.t, err)
}

func (w *world) given(b *fleet.Bundle) *fleet.BundleDeployment {
	return w.deployments.Live(placeOf("a"), b.Name)
}

func (w *world) ready(b *fleet.Bundle) string {
	for _, c := range w.bundles.Live(b.Namespace, b.Name).Status.Conditions {
		if c.Type == fleet.BundleConditionReady {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return ""
}

func TestNothingIsMadeOfAnAgentsBundleThatSomebodyElseWrote(t *testing.T) {
	w, c, b := agents(t)
	w.bundles.Add(b)
	w.lookAt(b)
	assert.Nil(t, w.given(b), "the hub has not said that it wrote it")
	assert.Zero(t, w.contents.Len())
	assert.Contains(t, w.ready(b), "waits until the hub has compared the bundle")

	w.h.Agents.Write(c, agentbundle.Digest(b.Spec))
	_, woken := w.bundles.After(b.Namespace, b.Name)
	assert.True(t, woken)
	w.lookAt(b)
	require.NotNil(t, w.given(b))
	had := w.given(b).Spec

	for name, change := range map[string]func(*fleet.Bundle){
		"resources": func(b *fleet.Bundle) { b.Spec.Resources[0].Content = "evil" },
		"a chart":   func(b *fleet.Bundle) { b.Spec.Helm = &fleet.HelmOptions{Chart: "oci://elsewhere"} },
		"order":     func(b *fleet.Bundle) { b.Spec.DependsOn = []fleet.BundleRef{{Name: "other"}} },
		"targets":   func(b *fleet.Bundle) { b.Spec.Targets = nil },
		"labels":    func(b *fleet.Bundle) { b.Labels = map[string]string{names.Prefix + "x": "evil"} },
	} {
		live := w.bundles.Live(b.Namespace, b.Name)
		changed := live.DeepCopy()
		changed.Generation++
		change(changed)
		w.bundles.Add(changed)
		w.takeCalls()
		w.lookAt(b)
		assert.Equal(t, had, w.given(b).Spec, name)
		assert.NotContains(t, w.given(b).Labels, names.Prefix+"x")
		if name != "labels" {
			assert.Contains(t, w.ready(b), "False AgentBundleChanged somebody changed the bundle", name)
			for _, call := range w.takeCalls() {
				assert.Contains(t, call, " bundle ", "%s: only its status is written", name)
			}
		}
		w.bundles.Add(live)
		w.lookAt(b)
		assert.NotContains(t, w.ready(b), "AgentBundleChanged", name)
	}
}

// A hub that has just started goes on reporting, and writes nothing until it knows.
func TestWhatThereIsOfAnAgentsBundleStaysWhileTheHubDoesNotKnowIt(t *testing.T) {
	w, c, b := agents(t)
	w.h.Agents.Write(c, agentbundle.Digest(b.Spec))
	w.bundles.Add(b)
	w.lookAt(b)
	require.NotNil(t, w.given(b))
	w.agentsReport()
	w.lookAt(b)
	require.Contains(t, w.ready(b), "True")

	w.h.Agents = agentbundle.NewLedger()
	w.takeCalls()
	w.lookAt(b)
	assert.Empty(t, w.takeCalls(), "a start writes nothing")

	live := w.bundles.Live(b.Namespace, b.Name)
	changed := live.DeepCopy()
	changed.Spec.Targets, changed.Generation = nil, live.Generation+1
	w.bundles.Add(changed)
	w.lookAt(b)
	assert.NotNil(t, w.given(b), "nothing is removed either")

	w.bundles.Add(live)
	w.h = newHandler(w.h.Deps) // which remembers nothing
	w.deployments.Remove(placeOf("a"), b.Name)
	w.lookAt(b)
	assert.Nil(t, w.given(b))
}

// Nobody knows the UID of a Cluster before it exists; what the reference made has none.
func TestAnAgentsBundleThatIsForgedBeforeItsClusterExists(t *testing.T) {
	w, c, b := agents(t)
	b.OwnerReferences = nil
	b.Annotations = map[string]string{
		names.ApplyPrefix + "id": names.SetManageAgent, names.ApplyPrefix + "owner-gvk": "/v1, Kind=Namespace", names.ApplyPrefix + "owner-name": workspace,
	}
	require.True(t, names.IsAgentBundle(b, c))
	w.bundles.Add(b)
	w.lookAt(b)
	assert.Nil(t, w.given(b))
	w.h.Agents.Write(c, "of the hub's own")
	w.lookAt(b)
	assert.Nil(t, w.given(b))
	assert.Contains(t, w.ready(b), "AgentBundleChanged")
}

// A bundle that has the name alone is a bundle as any other.
func TestOtherBundlesAreNotAskedFor(t *testing.T) {
	w, _, b := agents(t)
	w.addCluster("b", prod)
	b.OwnerReferences = nil
	w.bundles.Add(b)
	w.lookAt(b)
	assert.Nil(t, w.given(b), "the name is reserved there")
	assert.NotNil(t, w.deployments.Live(placeOf("b"), b.Name))
}
