package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// three are the clusters of most tests.
func three() []*fleet.Cluster {
	return []*fleet.Cluster{
		cluster("one", "env", "prod", "name", "one"), cluster("two", "env", "prod", "name", "two"), cluster("three", "env", "dev", "name", "three"),
	}
}

func to(name string, selector *metav1.LabelSelector, options fleet.BundleDeploymentOptions) fleet.BundleTarget {
	return fleet.BundleTarget{Name: name, ClusterSelector: selector, BundleDeploymentOptions: options}
}

func never(name string, selector *metav1.LabelSelector) fleet.BundleTarget {
	return fleet.BundleTarget{Name: name, ClusterSelector: selector, DoNotDeploy: true}
}

func in(namespace string) fleet.BundleDeploymentOptions {
	return fleet.BundleDeploymentOptions{TargetNamespace: namespace}
}

func account(name string) fleet.BundleDeploymentOptions {
	return fleet.BundleDeploymentOptions{ServiceAccount: name}
}

func TestClustersAreChosen(t *testing.T) {
	exists := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: metav1.LabelSelectorOpExists}}}
	for name, test := range map[string]struct {
		bundle *fleet.Bundle
		want   []string
	}{
		"no targets":                        {bundle(), []string{}},
		"a target without criteria":         {bundle(fleet.BundleTarget{Name: "x"}), []string{}},
		"everyone":                          {bundle(everyone()), []string{"one", "three", "two"}},
		"by label":                          {bundle(to("x", selecting("env", "prod"), in(""))), []string{"one", "two"}},
		"nobody":                            {bundle(to("x", selecting("env", "none"), in(""))), []string{}},
		"two targets, each cluster once":    {bundle(to("x", selecting("env", "prod"), in("")), everyone()), []string{"one", "three", "two"}},
		"restricted to one":                 {restrictedTo(bundle(), selecting("name", "one")), []string{"one"}},
		"restricted to one, customized all": {restrictedTo(bundle(to("c", selecting(), in("x"))), selecting("name", "one")), []string{"one"}},
		"restricted to two":                 {restrictedTo(bundle(), selecting("name", "one"), selecting("name", "two")), []string{"one", "two"}},
		"restricted to nobody":              {restrictedTo(bundle(to("c", selecting(), in("x"))), selecting("name", "none")), []string{}},
		"more restrictions than targets": {func() *fleet.Bundle {
			b := restrictedTo(bundle(), selecting("name", "one"), selecting("name", "two"))
			b.Spec.Targets = b.Spec.Targets[:1]
			return b
		}(), []string{"one"}},
		"a target that no restriction allows": {func() *fleet.Bundle {
			b := restrictedTo(bundle(), selecting("name", "one"))
			b.Spec.Targets[0].ClusterSelector = exists
			return b
		}(), []string{"one"}},
		// B04: an explicit exclusion wins, wherever it is listed.
		"excluded first":                   {bundle(never("n", selecting("env", "dev")), everyone()), []string{"one", "two"}},
		"excluded last":                    {bundle(everyone(), never("n", selecting("env", "dev"))), []string{"one", "two"}},
		"only excluded":                    {bundle(never("n", selecting())), []string{}},
		"excluded by a customization":      {restrictedTo(bundle(to("c", selecting(), in("x")), never("n", selecting("env", "dev"))), selecting()), []string{"one", "two"}},
		"excluded before customized":       {restrictedTo(bundle(never("n", selecting("env", "dev")), to("c", selecting(), in("x"))), selecting()), []string{"one", "two"}},
		"excluded without criteria":        {bundle(everyone(), fleet.BundleTarget{Name: "n", DoNotDeploy: true}), []string{"one", "three", "two"}},
		"excluded by all matching as well": {allMatches(restrictedTo(bundle(to("c", selecting(), in("x")), never("n", selecting("name", "two"))), selecting())), []string{"one", "three"}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, refusals := find(t, Facts{Bundle: test.bundle, Clusters: three()})
			require.Empty(t, refusals)
			assert.Equal(t, test.want, namesOf(targets))
		})
	}
}

func allMatches(b *fleet.Bundle) *fleet.Bundle {
	b.Spec.TargetCustomizationMode = fleet.TargetCustomizationModeAllMatches
	return b
}

func TestOptionsComeFromTheEntriesThatMatch(t *testing.T) {
	base := func(b *fleet.Bundle) *fleet.Bundle {
		b.Spec.TargetNamespace, b.Spec.ServiceAccount, b.Spec.DefaultNamespace = "base", "base", "base"
		return b
	}
	wide, narrow := to("wide", selecting("env", "prod"), in("wide")), to("narrow", selecting("name", "one"), account("narrow"))
	for name, test := range map[string]struct {
		bundle *fleet.Bundle
		want   map[string][2]string
	}{
		"the bundle's own":              {bundle(everyone()), map[string][2]string{"one": {"base", "base"}, "two": {"base", "base"}, "three": {"base", "base"}}},
		"the first target":              {bundle(narrow, wide, everyone()), map[string][2]string{"one": {"base", "narrow"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
		"the first target, other order": {bundle(wide, narrow, everyone()), map[string][2]string{"one": {"wide", "base"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
		"the first customization": {restrictedTo(bundle(wide, narrow), selecting()),
			map[string][2]string{"one": {"wide", "base"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
		"all customizations": {allMatches(restrictedTo(bundle(wide, narrow), selecting())),
			map[string][2]string{"one": {"wide", "narrow"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
		"all customizations, the last wins": {allMatches(restrictedTo(bundle(wide, to("narrow", selecting("name", "one"), in("narrow"))), selecting())),
			map[string][2]string{"one": {"narrow", "base"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
		"a customization stands for the target": {func() *fleet.Bundle {
			b := restrictedTo(bundle(narrow), selecting())
			b.Spec.Targets[1].TargetNamespace = "target"
			return b
		}(), map[string][2]string{"one": {"base", "narrow"}, "two": {"target", "base"}, "three": {"target", "base"}}},
		"all are put over the target": {func() *fleet.Bundle {
			b := allMatches(restrictedTo(bundle(narrow), selecting()))
			b.Spec.Targets[1].TargetNamespace = "target"
			return b
		}(), map[string][2]string{"one": {"target", "narrow"}, "two": {"target", "base"}, "three": {"target", "base"}}},
		"several targets without restrictions are not put together": {allMatches(bundle(wide, narrow, everyone())),
			map[string][2]string{"one": {"wide", "base"}, "two": {"wide", "base"}, "three": {"base", "base"}}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, refusals := find(t, Facts{Bundle: base(test.bundle), Clusters: three()})
			require.Empty(t, refusals)
			got := map[string][2]string{}
			for _, target := range targets {
				got[target.Cluster.Name] = [2]string{target.Options.TargetNamespace, target.Options.ServiceAccount}
				assert.Equal(t, "base", target.Options.DefaultNamespace)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// B01, B03: the labels as they are now decide, in both directions.
func TestRelabellingMovesACluster(t *testing.T) {
	a, b, shared := bundle(fleet.BundleTarget{ClusterGroup: "a"}), bundle(fleet.BundleTarget{ClusterGroup: "b"}), bundle(fleet.BundleTarget{ClusterGroupSelector: selecting("both", "yes")})
	groups := []*fleet.ClusterGroup{groupOf("a", selecting("at", "a"), "both", "yes"), groupOf("b", selecting("at", "b"), "both", "yes")}
	at := func(place string, of *fleet.Bundle) *Target {
		return one(t, Facts{Bundle: of, Groups: groups, Clusters: []*fleet.Cluster{cluster("edge", "at", place)}})
	}
	assert.NotNil(t, at("a", a))
	assert.Nil(t, at("a", b))
	assert.Nil(t, at("b", a))
	assert.NotNil(t, at("b", b))
	assert.Nil(t, at("", a))
	require.NotNil(t, at("a", shared))
	assert.Equal(t, at("a", shared).DeploymentID, at("b", shared).DeploymentID, "what it shares is not deployed anew")
}

func TestGroupsCountForTheirOwnNamespace(t *testing.T) {
	facts := Facts{
		Bundle:   bundle(fleet.BundleTarget{ClusterGroup: "prod"}),
		Clusters: []*fleet.Cluster{cluster("one", "env", "prod"), clusterIn("team-a", "two", "env", "prod")},
		Groups:   []*fleet.ClusterGroup{groupOf("prod", selecting("env", "prod"))},
	}
	targets, _ := find(t, facts)
	assert.Equal(t, []string{"one"}, namesOf(targets))
	assert.Equal(t, "prod", targets[0].Groups[0].Name)
}

func TestResultsAreSortedByNamespaceAndName(t *testing.T) {
	facts := Facts{Bundle: bundle(everyone()), Clusters: []*fleet.Cluster{
		clusterIn("b", "a"), clusterIn("a", "b"), clusterIn("a", "a"), clusterIn("a-b", "a"),
	}}
	targets, _ := find(t, facts)
	var keys []types.NamespacedName
	for _, target := range targets {
		keys = append(keys, target.Key())
	}
	assert.Equal(t, []types.NamespacedName{{Namespace: "a", Name: "a"}, {Namespace: "a", Name: "b"}, {Namespace: "a-b", Name: "a"}, {Namespace: "b", Name: "a"}}, keys)
}

// B11: one cluster's trouble is its own.
func TestAClusterWhoseValuesCannotBeMadeStopsNobodyElse(t *testing.T) {
	b := bundle(everyone())
	b.Spec.Helm = withValues(t, "zone: ${ .ClusterLabels.zone }").Helm
	facts := Facts{Bundle: b, Clusters: []*fleet.Cluster{cluster("one", "zone", "a"), cluster("two", "env", "prod"), cluster("three", "zone", "c")}}
	targets, refusals := find(t, facts)
	assert.Equal(t, []string{"one", "three"}, namesOf(targets))
	require.Len(t, refusals, 1)
	assert.False(t, refusals[0].Quiet)
	assert.Equal(t, types.NamespacedName{Namespace: workspace, Name: "two"}, refusals[0].Key())
	assert.Equal(t, "spec.helm.values", refusals[0].Field)
	assert.ErrorContains(t, refusals[0], `cluster fleet-default/two: spec.helm.values: 1:23: at <.ClusterLabels.zone>: map has no entry for key "zone"`)
}

func TestClustersThatLeaveAreLeftAlone(t *testing.T) {
	now := metav1.Now()
	going, revoked := cluster("going"), cluster("revoked")
	going.DeletionTimestamp, revoked.Spec.Revoked = &now, true
	targets, refusals := find(t, Facts{Bundle: bundle(everyone()), Clusters: []*fleet.Cluster{going, cluster("here"), revoked}})
	assert.Equal(t, []string{"here"}, namesOf(targets))
	require.Len(t, refusals, 2)
	for _, refusal := range refusals {
		assert.True(t, refusal.Quiet)
	}
}

// The bundle of a cluster's agent is deployed with all of the agent's rights: nobody gets them by choosing its name.
func TestTheNameOfAnAgentsBundleIsReservedOnItsCluster(t *testing.T) {
	clusters := []*fleet.Cluster{cluster("edge"), cluster("edge-2"), clusterIn("other", "edge")}
	named := bundle(everyone())
	named.Name = "fleet-agent-edge"
	targets, refusals := find(t, Facts{Bundle: named, Clusters: clusters})
	assert.Equal(t, []string{"edge-2"}, namesOf(targets))
	require.Len(t, refusals, 2, "in whatever namespace the bundle is")
	assert.Contains(t, refusals[0].Error(), "cluster fleet-default/edge: metadata.name: on this cluster the name is reserved")
	assert.False(t, refusals[0].Quiet)

	named.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "edge", UID: clusters[0].UID}}
	targets, refusals = find(t, Facts{Bundle: named, Clusters: clusters[:1]})
	assert.Equal(t, []string{"edge"}, namesOf(targets))
	assert.Empty(t, refusals)
}

// The Secret with its values would lie where the agent looks for its renewed credential, and keep that one out.
func TestTheNameOfARenewedCredentialIsReserved(t *testing.T) {
	named := bundle(everyone())
	named.Name = "fleet-agent-credential"
	targets, refusals := find(t, Facts{Bundle: named, Clusters: []*fleet.Cluster{cluster("edge"), clusterIn("other", "edge")}})
	assert.Empty(t, targets)
	require.Len(t, refusals, 2)
	assert.Contains(t, refusals[0].Error(), "the name is reserved for the credential of its agent")
	assert.False(t, refusals[0].Quiet, "the Bundle says it")

	odd := cluster("credential")
	named.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: odd.Name, UID: odd.UID}}
	targets, _ = find(t, Facts{Bundle: named, Clusters: []*fleet.Cluster{odd}})
	assert.Equal(t, []string{"credential"}, namesOf(targets), "the agent's own bundle of a Cluster of this name has no values")
}

func TestABundleThatCannotBeReadRefusesAllClusters(t *testing.T) {
	for field, change := range map[string]func(b *fleet.Bundle){
		"spec.targets[1].clusterSelector":                 func(b *fleet.Bundle) { b.Spec.Targets[1].ClusterSelector = broken() },
		"spec.targets[0].clusterGroupSelector":            func(b *fleet.Bundle) { b.Spec.Targets[0].ClusterGroupSelector = broken() },
		"spec.targetRestrictions[0].clusterSelector":      func(b *fleet.Bundle) { b.Spec.TargetRestrictions[0].ClusterSelector = broken() },
		"spec.targetRestrictions[0].clusterGroupSelector": func(b *fleet.Bundle) { b.Spec.TargetRestrictions[0].ClusterGroupSelector = broken() },
		"spec.valuesHash":                                 func(b *fleet.Bundle) { b.Spec.ValuesHash = "0" },
	} {
		b := restrictedTo(bundle(everyone()), selecting())
		facts := Facts{Bundle: b, Clusters: three()}
		require.NoError(t, Problem(facts))
		change(b)
		require.ErrorContains(t, Problem(facts), field+": ")
		targets, refusals := find(t, facts)
		assert.Empty(t, targets)
		require.Len(t, refusals, 3)
		assert.Equal(t, field, refusals[0].Field)
	}
}

// A group whose selector cannot be read may hold any cluster: only those that it would matter for are refused.
func TestABrokenGroupRefusesThoseThatItMattersFor(t *testing.T) {
	groups := []*fleet.ClusterGroup{groupOf("broken", broken(), "tier", "gold"), groupOf("prod", selecting("env", "prod"))}
	for name, test := range map[string]struct {
		targets           []fleet.BundleTarget
		targeted, refused []string
	}{
		"by its name":           {[]fleet.BundleTarget{{ClusterGroup: "broken"}}, []string{}, []string{"one", "three", "two"}},
		"by its labels":         {[]fleet.BundleTarget{{ClusterGroupSelector: selecting("tier", "gold")}}, []string{}, []string{"one", "three", "two"}},
		"by another":            {[]fleet.BundleTarget{{ClusterGroup: "prod"}}, []string{"one", "two"}, nil},
		"without groups":        {[]fleet.BundleTarget{everyone()}, []string{"one", "three", "two"}, nil},
		"as the second":         {[]fleet.BundleTarget{{ClusterGroup: "prod"}, {ClusterGroup: "broken"}}, []string{"one", "two"}, []string{"three"}},
		"as an exclusion":       {[]fleet.BundleTarget{{ClusterGroup: "prod"}, {ClusterGroup: "broken", DoNotDeploy: true}}, []string{}, []string{"one", "two"}},
		"excluded by another":   {[]fleet.BundleTarget{{ClusterGroup: "broken"}, never("n", selecting())}, []string{}, nil},
		"and a cluster's label": {[]fleet.BundleTarget{{ClusterGroup: "broken", ClusterSelector: selecting("env", "dev")}}, []string{}, []string{"three"}},
	} {
		t.Run(name, func(t *testing.T) {
			targets, refusals := find(t, Facts{Bundle: bundle(test.targets...), Clusters: three(), Groups: groups})
			assert.Equal(t, test.targeted, namesOf(targets))
			var refused []string
			for _, refusal := range refusals {
				refused = append(refused, refusal.Cluster.Name)
				assert.Equal(t, "ClusterGroup fleet-default/broken", refusal.Field)
			}
			assert.Equal(t, test.refused, refused)
		})
	}
}
