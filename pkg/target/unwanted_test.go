package target

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func at(hour int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC))
}

// deployed is the deployment of the bundle at a cluster. Clusters are made at 1, deployments at 2.
func deployed(c *fleet.Cluster) *fleet.BundleDeployment {
	c.CreationTimestamp = at(1)
	return &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Status.Namespace, Name: "app", CreationTimestamp: at(2),
		Labels: labelled(fleet.BundleLabel, "app", fleet.BundleNamespaceLabel, workspace),
	}}
}

// judged is the verdict about one deployment: removed, kept, or neither because it is wanted or going.
func judged(t *testing.T, facts Facts, bd *fleet.BundleDeployment, outside ...*fleet.Cluster) string {
	t.Helper()
	targets, refusals := find(t, facts)
	verdict := Unwanted(facts, targets, refusals, []*fleet.BundleDeployment{bd}, outside)
	switch {
	case len(verdict.Remove) == 1 && len(verdict.Keep) == 0:
		require.Equal(t, bd, verdict.Remove[0].Deployment)
		require.NotNil(t, verdict.Remove[0].Cluster)
		require.NotEmpty(t, verdict.Remove[0].Reason)
		return "removed"
	case len(verdict.Keep) == 1 && len(verdict.Remove) == 0:
		require.Equal(t, bd, verdict.Keep[0].Deployment)
		return verdict.Keep[0].Reason
	}
	require.Empty(t, verdict)
	return ""
}

// B01, B03, B05: what is not targeted any more goes.
func TestWhatIsNotTargetedIsRemoved(t *testing.T) {
	prod, dev := cluster("prod", "env", "prod"), cluster("dev", "env", "dev")
	facts := Facts{Bundle: bundle(to("x", selecting("env", "prod"), in(""))), Clusters: []*fleet.Cluster{prod, dev}}
	assert.Equal(t, "", judged(t, facts, deployed(prod)))
	assert.Equal(t, "removed", judged(t, facts, deployed(dev)))

	facts.Bundle.Spec.Targets = append(facts.Bundle.Spec.Targets, never("n", selecting()))
	assert.Equal(t, "removed", judged(t, facts, deployed(prod)), "B04: an exclusion takes it away")
	facts.Bundle.Spec.Targets = nil
	assert.Equal(t, "removed", judged(t, facts, deployed(prod)))
}

func TestWhatIsGoingIsNotJudged(t *testing.T) {
	dev := cluster("dev")
	bd, now := deployed(dev), at(3)
	bd.DeletionTimestamp = &now
	assert.Equal(t, "", judged(t, Facts{Bundle: bundle(), Clusters: []*fleet.Cluster{dev}}, bd))
}

// B11, B18: nothing is removed on doubt.
func TestInDoubtADeploymentStays(t *testing.T) {
	for name, test := range map[string]struct {
		change func(facts *Facts, c *fleet.Cluster, bd *fleet.BundleDeployment)
		want   string
	}{
		"the list of clusters is empty":         {func(f *Facts, _ *fleet.Cluster, _ *fleet.BundleDeployment) { f.Clusters = nil }, "no cluster is known"},
		"the cluster has no namespace any more": {func(_ *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) { c.Status.Namespace = "" }, "no cluster is known"},
		"the cluster has another namespace":     {func(_ *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) { c.Status.Namespace = "other" }, "no cluster is known"},
		"two clusters have the namespace": {func(f *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) {
			other := cluster("other")
			other.Status.Namespace = c.Status.Namespace
			f.Clusters = append(f.Clusters, other)
		}, "more than one cluster"},
		"the cluster is being deleted": {func(_ *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) { now := at(3); c.DeletionTimestamp = &now }, "being deleted"},
		"the cluster was revoked":      {func(_ *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) { c.Spec.Revoked = true }, "was revoked"},
		"the cluster is off schedule":  {func(_ *Facts, _ *fleet.Cluster, bd *fleet.BundleDeployment) { bd.Spec.OffSchedule = true }, "outside of its schedule"},
		"a selector is broken": {func(f *Facts, _ *fleet.Cluster, _ *fleet.BundleDeployment) {
			f.Bundle.Spec.Targets[0].ClusterSelector = broken()
		}, "spec.targets[0].clusterSelector"},
		"the values are missing": {func(f *Facts, _ *fleet.Cluster, _ *fleet.BundleDeployment) { f.Bundle.Spec.ValuesHash = "0" }, "spec.valuesHash"},
		"a group is broken": {func(f *Facts, _ *fleet.Cluster, _ *fleet.BundleDeployment) {
			f.Bundle.Spec.Targets[0] = fleet.BundleTarget{ClusterGroup: "g"}
			f.Groups = []*fleet.ClusterGroup{groupOf("g", broken())}
		}, "ClusterGroup fleet-default/g"},
		"the values cannot be made": {func(f *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) {
			f.Bundle.Spec.Targets[0] = everyone()
			f.Bundle.Spec.Helm = &fleet.HelmOptions{TemplateValues: labelled("a", "${ .ClusterLabels.none }")}
		}, "spec.helm.templateValues[a]"},
		"the cluster was made anew without labels": {func(_ *Facts, c *fleet.Cluster, _ *fleet.BundleDeployment) {
			c.Labels, c.CreationTimestamp = nil, at(3)
		}, "created anew, without any labels"},
		"another bundle's": {func(_ *Facts, _ *fleet.Cluster, bd *fleet.BundleDeployment) { bd.Labels[fleet.BundleLabel] = "other" }, "of another bundle"},
		"another namespace's bundle": {func(_ *Facts, _ *fleet.Cluster, bd *fleet.BundleDeployment) {
			bd.Labels[fleet.BundleNamespaceLabel] = "x"
		}, "of another bundle"},
		"without labels":  {func(_ *Facts, _ *fleet.Cluster, bd *fleet.BundleDeployment) { bd.Labels = nil }, "of another bundle"},
		"of another name": {func(_ *Facts, _ *fleet.Cluster, bd *fleet.BundleDeployment) { bd.Name = "other" }, "of another bundle"},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster("dev", "env", "dev")
			bd := deployed(c)
			facts := Facts{Bundle: bundle(to("x", selecting("env", "prod"), in(""))), Clusters: []*fleet.Cluster{c}}
			require.Equal(t, "removed", judged(t, facts, bd), "without the doubt it goes")
			test.change(&facts, c, bd)
			assert.Contains(t, judged(t, facts, bd), test.want)
		})
	}
}

// Who takes the last label of a cluster away means it.
func TestAClusterWithoutLabelsIsNotInDoubtByThat(t *testing.T) {
	c := cluster("bare")
	bd := deployed(c)
	assert.Equal(t, "removed", judged(t, Facts{Bundle: bundle(to("x", selecting("env", "prod"), in(""))), Clusters: []*fleet.Cluster{c}}, bd))
}

func TestAMappingThatIsWithdrawnTakesItsDeployments(t *testing.T) {
	far := clusterIn("team-a", "far")
	bd := deployed(far)
	facts := Facts{Bundle: bundle(everyone()), Clusters: []*fleet.Cluster{cluster("near")}}
	assert.Contains(t, judged(t, facts, bd), "no cluster is known")
	assert.Equal(t, "removed", judged(t, facts, bd, far))
	far.Spec.Revoked = true
	assert.Contains(t, judged(t, facts, bd, far), "was revoked")
}

func TestAGroupThatIsMissingIsToBeConfirmed(t *testing.T) {
	c := cluster("dev", "env", "dev")
	bd := deployed(c)
	facts := Facts{
		Bundle: bundle(fleet.BundleTarget{ClusterGroup: "lost"}, fleet.BundleTarget{ClusterGroup: "here"}, fleet.BundleTarget{ClusterName: "x"}),
		Groups: []*fleet.ClusterGroup{groupOf("here", nil)}, Clusters: []*fleet.Cluster{c},
	}
	verdict := Unwanted(facts, nil, nil, []*fleet.BundleDeployment{bd}, nil)
	require.Len(t, verdict.Remove, 1)
	assert.Equal(t, []types.NamespacedName{{Namespace: workspace, Name: "lost"}}, verdict.Remove[0].AbsentGroups)
}

func TestTheProofHoldsForTheSameClusterOnly(t *testing.T) {
	seen := cluster("edge", "env", "dev")
	assert.True(t, Same(seen, seen.DeepCopy()))
	assert.False(t, Same(seen, nil))
	assert.False(t, Same(nil, seen))
	for name, change := range map[string]func(c *fleet.Cluster){
		"uid":       func(c *fleet.Cluster) { c.UID = "other" },
		"label":     func(c *fleet.Cluster) { c.Labels["env"] = "prod" },
		"no labels": func(c *fleet.Cluster) { c.Labels = nil },
		"namespace": func(c *fleet.Cluster) { c.Status.Namespace = "other" },
		"revoked":   func(c *fleet.Cluster) { c.Spec.Revoked = true },
		"going":     func(c *fleet.Cluster) { now := at(1); c.DeletionTimestamp = &now },
		"name":      func(c *fleet.Cluster) { c.Name = "other" },
	} {
		live := seen.DeepCopy()
		change(live)
		assert.False(t, Same(seen, live), name)
	}
	live := seen.DeepCopy()
	live.Status.Agent.Namespace, live.ResourceVersion = "x", "2"
	assert.True(t, Same(seen, live))
}
