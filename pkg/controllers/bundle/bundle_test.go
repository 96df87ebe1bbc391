package bundle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func TestABundleReachesItsClusters(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", prod)
	w.addCluster("c", nil)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) { b.Finalizers = nil }))

	w.mustLook()
	assert.Contains(t, w.bundles.Live(workspace, app).Finalizers, names.BundleFinalizer)
	assert.Zero(t, w.deployments.Len(), "the finalizer comes first")
	w.mustLook()

	require.Equal(t, 2, w.deployments.Len())
	bd := w.deployment("a")
	require.Equal(t, 1, w.contents.Len())
	assert.NotNil(t, w.contents.Live("", bd.Labels[fleet.ContentNameLabel]))
	assert.True(t, strings.HasPrefix(bd.Spec.DeploymentID, bd.Labels[fleet.ContentNameLabel]+":"))
	assert.Equal(t, bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID)
	assert.Equal(t, "0/2", w.status().Display.ReadyClusters)
	assert.Equal(t, 2, w.status().Summary.WaitApplied)
	assert.Equal(t, "False  WaitApplied(2) [Cluster ws/a]", w.readyMessage())
	assert.Equal(t, int64(1), w.status().ObservedGeneration)

	w.agentsReport()
	w.mustLook()
	assert.Equal(t, "True  ", w.readyMessage())
	assert.Equal(t, fleet.BundleDisplay{ReadyClusters: "2/2"}, w.status().Display)
}

// C07, C09: what is as it should be is not written, and not even read.
func TestALookWithNothingNewMakesNoRequest(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.addCluster(fmt.Sprint(i), prod)
	}
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	w.mustLook()
	w.agentsReport()
	w.mustLook()
	w.takeCalls()
	w.mustLook()
	assert.Empty(t, w.takeCalls())
}

// The budget: two writes for each deployment with values, one without; the Content, and the status once.
func TestHowMuchIsWritten(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*fleet.Bundle)
		each   int
	}{"without values": {func(*fleet.Bundle) {}, 1}, "with values": {withValues, 2}} {
		w := newWorld(t)
		for i := range 120 {
			w.addCluster(fmt.Sprintf("c%03d", i), prod)
		}
		w.bundles.Add(newBundle(test.change))
		w.mustLook()
		assert.Equal(t, 120, w.deployments.Len(), name)
		assert.Len(t, w.takeCalls(), 120*test.each+2, name)
		w.clock.SetTime(now.Add(statusPause))
		w.mustLook()
		assert.Empty(t, w.takeCalls(), "that no more are made is no news")
	}
}

// Each write of the status is one of the whole Bundle. While agents report one after the other, it rests between two.
func TestTheStatusOfABundleUnderWayRests(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.addCluster(fmt.Sprint(i), prod)
	}
	w.bundles.Add(newBundle())
	w.mustLook()
	w.takeCalls()
	report := func(i int) {
		bd := w.deployment(fmt.Sprint(i)).DeepCopy()
		bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = bd.Spec.DeploymentID, true, true
		w.deployments.Add(bd)
	}
	report(0)
	w.mustLook()
	assert.Empty(t, w.takeCalls())
	after, ok := w.bundles.After(workspace, app)
	require.True(t, ok, "it is not forgotten")
	assert.Equal(t, statusPause, after)
	w.clock.SetTime(now.Add(statusPause))
	w.mustLook()
	assert.Equal(t, "1/3", w.status().Display.ReadyClusters)

	report(1)
	w.mustLook()
	assert.Equal(t, "1/3", w.status().Display.ReadyClusters)
	report(2)
	w.mustLook()
	assert.Equal(t, "3/3", w.status().Display.ReadyClusters, "that it is ready is said at once")
}

func TestContentThenSecretThenDeployment(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	var order []string
	for _, call := range w.takeCalls() {
		order = append(order, strings.Join(strings.Fields(call)[:2], " "))
	}
	assert.Equal(t, []string{"create content", "create secret", "create deployment", "updateStatus bundle"}, order)

	secret := w.secrets.Live(placeOf("a"), app)
	assert.Equal(t, fleet.SecretTypeBundleDeploymentOptions, string(secret.Type))
	assert.JSONEq(t, `{"password":"canary"}`, string(secret.Data["values"]))
	assert.Nil(t, w.deployment("a").Spec.Options.Helm.Values)
}

// B11: one of twenty clusters whose namespace is going stops nobody, and nothing is removed.
func TestOneBadClusterStopsNobody(t *testing.T) {
	for name, failure := range map[string]error{"terminating": terminating("x"), "broken": errors.New("no space left on device")} {
		w := newWorld(t)
		for i := range 20 {
			w.addCluster(fmt.Sprintf("c%02d", i), prod)
		}
		w.fail = func(kind, verb, key string) error {
			if kind == "deployment" && verb == "create" && strings.HasPrefix(key, placeOf("c07")) {
				return failure
			}
			return nil
		}
		w.bundles.Add(newBundle())
		err := w.look()
		assert.Equal(t, name == "broken", err != nil, "it is tried again where that may help: %s", name)
		assert.Equal(t, 19, w.deployments.Len(), name)
		assert.Equal(t, 1, w.status().Summary.Pending, name)
		assert.Contains(t, w.readyMessage(), "Pending(1) [Cluster ws/c07: writing BundleDeployment", name)

		w.fail = nil
		w.mustLook()
		assert.Equal(t, 20, w.deployments.Len(), name)
	}
}

// C01: what no API server takes is said, and neither sent nor tried again.
func TestContentThatIsTooLargeIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Spec.Resources[0] = fleet.BundleResource{Name: "big", Content: noise(3 << 20)}
	}))
	w.mustLook()
	assert.Contains(t, w.readyMessage(), "False ContentTooLarge")
	assert.Contains(t, w.readyMessage(), "bytes, of at most")
	assert.Zero(t, w.deployments.Len())
	assert.Zero(t, w.contents.Len())
	assert.False(t, w.woken())
	w.takeCalls()
	w.mustLook()
	assert.Empty(t, w.takeCalls())
}

// noise is text that does not compress.
func noise(n int) string {
	var b strings.Builder
	state := uint64(1)
	for b.Len() < n {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		fmt.Fprintf(&b, "%016x%c", state, rune('!'+state%90))
	}
	return b.String()
}

func TestAPausedBundleBecomesOutOfSync(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.agentsReport()
	running := w.deployment("a").Spec.DeploymentID

	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Generation, b.Spec.Paused = 2, true
		b.Spec.Resources[0].Content = "kind: Secret"
	}))
	w.mustLook()
	bd := w.deployment("a")
	assert.Equal(t, running, bd.Spec.DeploymentID)
	assert.NotEqual(t, running, bd.Spec.StagedDeploymentID)
	assert.True(t, bd.Spec.Paused)
	assert.Equal(t, 1, w.status().Summary.OutOfSync)
	assert.Equal(t, 2, w.contents.Len())
}

func TestAClusterIsServedOnlyInItsOwnNamespace(t *testing.T) {
	w := newWorld(t)
	w.addCluster("victim", nil)
	// Agents can write the status of their Cluster: it is no proof.
	w.addCluster("thief", prod, func(c *fleet.Cluster) { c.Status.Namespace = placeOf("victim") })
	w.bundles.Add(newBundle(withValues))
	w.mustLook()
	assert.Zero(t, w.deployments.Len())
	assert.Zero(t, w.secrets.Len())
	assert.Contains(t, w.readyMessage(), "is not the cluster's")
}

func TestADeploymentThatWasEditedIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	want := w.deployment("a")
	edited := want.DeepCopy()
	edited.Spec.Options.ServiceAccount = "admin"
	w.deployments.Add(edited)
	w.h.onDeployment(want, edited)
	assert.True(t, w.woken())
	w.mustLook()
	assert.Empty(t, w.deployment("a").Spec.Options.ServiceAccount)
}

func TestAContentThatIsNeededComesBack(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	lost := w.contents.Live("", w.deployment("a").Labels[fleet.ContentNameLabel])
	w.contents.Remove("", lost.Name)
	w.h.onContent(lost, nil)
	assert.True(t, w.woken())
	w.mustLook()
	assert.NotNil(t, w.contents.Live("", lost.Name))
}

func TestAnInvalidBundleIsSaidOnceAndKeepsAll(t *testing.T) {
	w := newWorld(t)
	w.addCluster("a", prod)
	w.addCluster("b", prod)
	w.bundles.Add(newBundle())
	w.mustLook()
	w.bundles.Add(newBundle(func(b *fleet.Bundle) {
		b.Generation = 2
		b.Spec.Targets[0].ClusterSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Nonsense"}}}
	}))
	w.mustLook()
	assert.Contains(t, w.readyMessage(), "False InvalidBundle spec.targets[0].clusterSelector")
	assert.Equal(t, 2, w.deployments.Len())
}
