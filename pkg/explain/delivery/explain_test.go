package delivery

import (
	"testing"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestExplainTellsOfEachClusterWhatItWaitsFor(t *testing.T) {
	for name, test := range map[string]struct {
		change            func(*Facts, *fleet.BundleDeployment)
		state, step, says string
	}{
		"ready":    {func(*Facts, *fleet.BundleDeployment) {}, "Ready", StepApplied, ""},
		"not made": {func(f *Facts, _ *fleet.BundleDeployment) { f.Deployments = nil }, "Pending", StepNone, "the hub, which"},
		"late":     {func(_ *Facts, bd *fleet.BundleDeployment) { bd.Status.AppliedDeploymentID = "" }, "WaitApplied", StepReleased, "its agent, which takes"},
		"depends": {func(_ *Facts, bd *fleet.BundleDeployment) {
			bd.Status.AppliedDeploymentID = ""
			bd.Spec.DependsOn = []fleet.BundleRef{{Name: "db"}}
			says(bd, fleet.BundleDeploymentConditionDeployed, "dependent bundle(s) are not ready: [db]")
		}, "ErrApplied", StepReleased, "[db]"},
		"failed": {func(_ *Facts, bd *fleet.BundleDeployment) {
			bd.Status.AppliedDeploymentID = ""
			says(bd, fleet.BundleDeploymentConditionDeployed, "no such kind")
		}, "ErrApplied", StepReleased, "somebody who mends"},
		"not ready": {func(_ *Facts, bd *fleet.BundleDeployment) { bd.Status.Ready = false }, "NotReady", StepApplied, "resources that are not ready"},
		"modified":  {func(_ *Facts, bd *fleet.BundleDeployment) { bd.Status.NonModified = false }, "Modified", StepApplied, "takes back"},
		"silent": {func(f *Facts, bd *fleet.BundleDeployment) {
			bd.Status.Ready = false
			f.Clusters[0].Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.ClusterConditionAgentConnected, Status: "False"}}
		}, "NotReady", StepApplied, "silent"},
		"paused": {func(f *Facts, _ *fleet.BundleDeployment) {
			f.Bundle = bundle("a.yaml=2")
			f.Bundle.Spec.Paused = true
		}, "Ready", StepEarlier, ""},
		"refused": {func(f *Facts, _ *fleet.BundleDeployment) { f.Bundle.Spec.Helm = withValue("${ .Missing }") }, "ErrApplied", StepEarlier, "helm.values"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := world(t, bundle("a.yaml=1"), cluster("one", prod))
			test.change(&facts, facts.Deployments[0])
			e := At(facts).Explain()
			require.Len(t, e.Clusters, 1)
			c := e.Clusters[0]
			assert.Equal(t, test.state, string(c.State))
			assert.Equal(t, test.step, c.Step)
			assert.Contains(t, c.WaitsFor, test.says)
			assert.Equal(t, test.says == "", c.WaitsFor == "")
		})
	}
}

func TestExplainCountsAndNamesTheContent(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod), cluster("two", prod))
	facts.Deployments[1].Status.Ready = false
	facts.Deployments[1].Status.NonReadyStatus = []fleet.NonReadyStatus{{Kind: "Deployment", Namespace: "apps", Name: "web"}}
	facts.Deployments[1].Status.ModifiedStatus = []fleet.ModifiedStatus{{Kind: "Secret", Name: "s", Create: true}}
	e := At(facts).Explain()
	assert.Equal(t, "1/2", e.ReadyClusters)
	assert.Equal(t, "NotReady", e.State)
	assert.Len(t, e.Content.ID, 63)
	assert.Positive(t, e.Content.Size)
	assert.Greater(t, e.Content.Limit, e.Content.Size)
	assert.Equal(t, []string{"Deployment apps/web: "}, e.Clusters[1].NonReady)
	assert.Equal(t, []string{"Secret s: missing"}, e.Clusters[1].Modified)
	assert.Equal(t, e.Content.ID, e.Clusters[0].Content)
	assert.Equal(t, "All", e.Clusters[0].Partition)
}

func TestExplainTellsWhatStopsAll(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod))
	facts.Bundle = facts.Bundle.DeepCopy()
	facts.Bundle.Spec.Resources[0].Encoding = "rot13"
	e := At(facts).Explain()
	assert.Equal(t, "Blocked", e.State)
	assert.Contains(t, e.Problem, "spec.resources[0]")
	facts.Bundle.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.BundleConditionReady, Status: "False", Reason: "InvalidResources"}}
	assert.Equal(t, "InvalidResources", At(facts).Explain().State)
}

func TestWhatIsLeftOverIsTold(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod))
	facts.Clusters = []*fleet.Cluster{cluster("one", map[string]string{"env": "test"})}
	e := At(facts).Explain()
	require.Len(t, e.Clusters, 1)
	assert.Equal(t, StepLeft, e.Clusters[0].Step)
	assert.Contains(t, e.Clusters[0].WaitsFor, "its removal")
	assert.Equal(t, "0/0", e.ReadyClusters)
}

func TestRowsTellWhatTheStatusSays(t *testing.T) {
	for name, test := range map[string]struct {
		change         func(*fleet.Bundle)
		state, message string
	}{
		"ready":   {func(*fleet.Bundle) {}, "Ready", ""},
		"new":     {func(b *fleet.Bundle) { b.Status.ObservedGeneration = 0 }, "New", "the hub has not looked"},
		"changed": {func(b *fleet.Bundle) { b.Generation = 2 }, "Ready", "the hub has not looked"},
		"leaving": {func(b *fleet.Bundle) { b.DeletionTimestamp = &metav1.Time{} }, "Leaving", ""},
		"blocked": {func(b *fleet.Bundle) {
			b.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.BundleConditionReady, Status: "False", Reason: "InvalidBundle", Message: "why"}}
		}, "InvalidBundle", "why"},
	} {
		b := bundle()
		test.change(b)
		row := RowOf(b)
		assert.Equal(t, test.state, row.State, name)
		assert.Contains(t, row.Message, test.message, name)
		assert.Equal(t, test.message == "", row.Message == "", name)
	}
}

func TestChoicesTellOfEveryCluster(t *testing.T) {
	facts := world(t, bundle("a.yaml=1"), cluster("one", prod), cluster("two", nil))
	choices := At(facts).Choices()
	require.Len(t, choices, 2)
	assert.True(t, choices[0].Targeted)
	assert.NotEmpty(t, choices[0].DeploymentID)
	assert.False(t, choices[1].Targeted)
	assert.Contains(t, choices[1].Reason, "no target matches")
}
