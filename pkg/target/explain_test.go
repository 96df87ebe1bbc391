package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestTheReasonIsOneSentence(t *testing.T) {
	now := at(1)
	going := cluster("going", "env", "prod")
	going.DeletionTimestamp = &now
	prod := cluster("edge", "env", "prod")
	template := bundle(everyone())
	template.Spec.Helm = &fleet.HelmOptions{TemplateValues: labelled("a", "${ fail \"not here\" }")}
	broke := bundle(fleet.BundleTarget{ClusterSelector: broken()})
	onlyCustomized := restrictedTo(bundle(to("c", selecting("env", "prod"), in("x"))), selecting("env", "dev"))
	restricted := restrictedTo(bundle(), selecting("env", "dev"))
	restricted.Spec.Targets[0].ClusterSelector = selecting()
	for name, test := range map[string]struct {
		bundle  *fleet.Bundle
		cluster *fleet.Cluster
		want    string
	}{
		"matching":   {bundle(everyone()), prod, `target "everyone" matches`},
		"unnamed":    {bundle(fleet.BundleTarget{ClusterName: "edge"}), prod, `target "target000" matches`},
		"no targets": {bundle(), prod, "the bundle has no targets"},
		"no match":   {bundle(to("x", selecting("env", "dev"), in(""))), prod, "no target matches the cluster"},
		"excluded":   {bundle(everyone(), never("not here", selecting("env", "prod"))), prod, `target "not here" matches, and says doNotDeploy`},
		"restricted": {restricted, prod, `target "a" matches, but none of spec.targetRestrictions does`},
		"customized": {onlyCustomized, prod, `no target matches the cluster; "c" does, but with spec.targetRestrictions it only customizes`},
		"going":      {bundle(everyone()), going, "left as it is: the cluster is being deleted"},
		"a template": {template, prod, `target "everyone" matches, but the options cannot be made, so that nothing changes: spec.helm.templateValues[a]: 1:3: at <fail "not here">: error calling fail: not here`},
		"unreadable": {broke, prod, `the bundle cannot be targeted: spec.targets[0].clusterSelector: "Near\x1b" is not a valid label selector operator`},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explain(Facts{Bundle: test.bundle}, test.cluster)
			assert.Equal(t, test.want, e.Reason)
			targets, refusals := find(t, Facts{Bundle: test.bundle, Clusters: []*fleet.Cluster{test.cluster}})
			assert.Equal(t, len(refusals) > 0, e.Refusal != nil)
			assert.Equal(t, len(targets) > 0, e.Targeted && e.Refusal == nil)
		})
	}
}

func TestAnExplanationIsAsTheGoldenFileSays(t *testing.T) {
	b := allMatches(restrictedTo(bundle(
		to("wide", selecting("env", "prod"), in("")), to("other", selecting("env", "dev"), in("")),
		fleet.BundleTarget{ClusterGroup: "canary", ClusterName: "edge"}, fleet.BundleTarget{Name: "empty"},
		never("elsewhere", selecting("region", "far")),
	), selecting("env", "dev"), selecting("env", "prod")))
	facts := Facts{Bundle: b, Groups: []*fleet.ClusterGroup{groupOf("prod", selecting("env", "prod")), groupOf("canary", selecting("env", "prod"))}}
	got, err := yaml.Marshal(Explain(facts, cluster("edge", "env", "prod")))
	require.NoError(t, err)
	golden(t, "explanation.yaml", got)
}
