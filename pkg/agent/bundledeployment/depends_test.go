package bundledeployment

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

func after(names ...string) func(*fleet.BundleDeployment) {
	return func(bd *fleet.BundleDeployment) {
		for _, name := range names {
			bd.Spec.DependsOn = append(bd.Spec.DependsOn, fleet.BundleRef{Name: name})
		}
	}
}

// B13, B14: a bundle waits until those that it depends on are ready, however long that takes, and is deployed right then.
func TestABundleWaitsForOthers(t *testing.T) {
	w := newWorld(t)
	w.monitor.finds["base"] = drift.Result{NonModified: true}
	w.run()
	w.attach(token)
	w.put("app", after("base"))
	none := "False list bundledeployments: no bundles matching labels fleet.cattle.io/bundle-name=base," +
		"fleet.cattle.io/bundle-namespace=fleet-default in namespace " + clusterNamespace
	w.becomes("app", "misses it", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") == none })
	w.put("base")
	waits := "False dependent bundle(s) are not ready: [base]"
	w.becomes("app", "waits", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") == waits })
	w.never("deployed", func() bool { return len(w.deployer.jobsOf("app")) > 0 })
	w.monitor.find("base", drift.Result{Ready: true, NonModified: true})
	w.isDeployed("app")
	assert.Equal(t, "True ", conditionOf(w.get("app").Status, "Deployed"))
}

func TestABundleThatIsDeployedDoesNotWait(t *testing.T) {
	w := start(t)
	w.put("base")
	w.put("app", after("base"))
	w.isDeployed("app")
	w.monitor.find("base", drift.Result{NonModified: true})
	w.becomes("base", "is not ready", func(s fleet.BundleDeploymentStatus) bool { return !s.Ready })
	w.never("called failed", func() bool { return conditionOf(w.get("app").Status, "Deployed") != "True " })
}

// B14: a dependency that is about to change is not ready, although what it was is.
func TestDependenciesCountByWhatTheyAreToBe(t *testing.T) {
	ready := func(change func(*fleet.BundleDeployment)) *fleet.BundleDeployment {
		bd := &fleet.BundleDeployment{
			ObjectMeta: metav1.ObjectMeta{Name: "base", Labels: map[string]string{fleet.BundleLabel: "base", fleet.BundleNamespaceLabel: "ws", "tier": "db"}},
			Spec:       fleet.BundleDeploymentSpec{DeploymentID: "a", StagedDeploymentID: "a"},
			Status:     fleet.BundleDeploymentStatus{AppliedDeploymentID: "a", Ready: true, NonModified: true},
		}
		change(bd)
		return bd
	}
	now := metav1.Now()
	notReady := "dependent bundle(s) are not ready: [base]"
	none := "list bundledeployments: no bundles matching labels fleet.cattle.io/bundle-name=base,fleet.cattle.io/bundle-namespace=ws in namespace ns"
	byName := fleet.BundleRef{Name: "base"}
	for name, test := range map[string]struct {
		ref    fleet.BundleRef
		change func(*fleet.BundleDeployment)
		want   string
	}{
		"ready":                 {byName, func(*fleet.BundleDeployment) {}, ""},
		"another one is wanted": {byName, func(bd *fleet.BundleDeployment) { bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID = "b", "b" }, notReady},
		"another one is staged": {byName, func(bd *fleet.BundleDeployment) { bd.Spec.StagedDeploymentID = "b" }, notReady},
		"modified":              {byName, func(bd *fleet.BundleDeployment) { bd.Status.NonModified = false }, notReady},
		"going":                 {byName, func(bd *fleet.BundleDeployment) { bd.DeletionTimestamp = &now }, notReady},
		"copies are outdated": {byName, func(bd *fleet.BundleDeployment) {
			bd.Spec.Options.DownstreamResources, bd.Spec.DownstreamResourcesGeneration = []fleet.DownstreamResource{{Kind: "Secret", Name: "x"}}, 2
		}, notReady},
		"modified, which is accepted": {
			fleet.BundleRef{Name: "base", AcceptedStates: []fleet.BundleState{fleet.Ready, fleet.Modified}},
			func(bd *fleet.BundleDeployment) { bd.Status.NonModified = false }, "",
		},
		"of another workspace": {byName, func(bd *fleet.BundleDeployment) { bd.Labels[fleet.BundleNamespaceLabel] = "other" }, none},
		"selected": {fleet.BundleRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}},
			func(bd *fleet.BundleDeployment) { bd.Status.Ready = false }, notReady},
		"nothing is named": {fleet.BundleRef{}, func(bd *fleet.BundleDeployment) { bd.Status.Ready = false }, ""},
		"itself": {fleet.BundleRef{Selector: &metav1.LabelSelector{}}, func(bd *fleet.BundleDeployment) { bd.Name = "app" },
			"list bundledeployments: no bundles matching labels  in namespace ns"},
	} {
		t.Run(name, func(t *testing.T) {
			app := &fleet.BundleDeployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "app", Labels: map[string]string{fleet.BundleNamespaceLabel: "ws"}},
				Spec:       fleet.BundleDeploymentSpec{DependsOn: []fleet.BundleRef{test.ref}},
			}
			got, err := unmet(app, []*fleet.BundleDeployment{ready(test.change)})
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestASelectorThatCannotBeIsTold(t *testing.T) {
	w := start(t)
	w.put("app", func(bd *fleet.BundleDeployment) {
		bd.Spec.DependsOn = []fleet.BundleRef{{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}}}
	})
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("app").Status, "Deployed"), "dependsOn[0].selector")
}

// D03: a label holds the hash of a name that is too long for it.
func TestABundleWithALongNameCanBeDependedOn(t *testing.T) {
	long := strings.Repeat("long-name.", 12) + "end"
	bd := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{fleet.BundleNamespaceLabel: "ws"}}}
	bd.Spec.DependsOn = []fleet.BundleRef{{Name: long}}
	other := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		fleet.BundleLabel: names.LabelValue(long), fleet.BundleNamespaceLabel: "ws",
	}}}
	needs, err := dependencies(bd)
	require.NoError(t, err)
	require.Len(t, needs, 1)
	assert.True(t, needs[0].selector.Matches(labels.Set(other.Labels)))
}
