package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestAllCriteriaMustBeMet(t *testing.T) {
	edge := cluster("edge", "env", "prod", "management.cattle.io/cluster-display-name", "Edge One")
	groups := []*fleet.ClusterGroup{
		groupOf("prod", selecting("env", "prod"), "tier", "gold"),
		groupOf("second", selecting("env", "prod"), "tier", "iron"),
		groupOf("dev", selecting("env", "dev"), "tier", "lead"),
		groupOf("empty", nil, "tier", "none"),
	}
	absent := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}
	for name, test := range map[string]struct {
		choice choice
		want   verdict
	}{
		"nothing":                             {choice{}, noCriteria},
		"name":                                {choice{clusterName: "edge"}, met},
		"display name":                        {choice{clusterName: "Edge One"}, met},
		"other name":                          {choice{clusterName: "edg"}, otherName},
		"labels":                              {choice{clusterSelector: selecting("env", "prod")}, met},
		"empty selector":                      {choice{clusterSelector: selecting()}, met},
		"other labels":                        {choice{clusterSelector: selecting("env", "dev")}, otherLabels},
		"group":                               {choice{clusterGroup: "prod"}, met},
		"other group":                         {choice{clusterGroup: "dev"}, otherGroup},
		"group without a selector":            {choice{clusterGroup: "empty"}, otherGroup},
		"unknown group":                       {choice{clusterGroup: "nobody"}, otherGroup},
		"labels of a group":                   {choice{clusterGroupSelector: selecting("tier", "iron")}, met},
		"labels of another group":             {choice{clusterGroupSelector: selecting("tier", "lead")}, otherGroupLabels},
		"group and its labels":                {choice{clusterGroup: "prod", clusterGroupSelector: selecting("tier", "gold")}, met},
		"group and the labels of the second":  {choice{clusterGroup: "prod", clusterGroupSelector: selecting("tier", "iron")}, otherGroupLabels},
		"absent label of a group":             {choice{clusterGroupSelector: absent}, otherGroupLabels},
		"everything":                          {choice{"edge", "prod", selecting("env", "prod"), selecting("tier", "gold")}, met},
		"everything but the name":             {choice{"core", "prod", selecting("env", "prod"), selecting("tier", "gold")}, otherName},
		"everything but the labels":           {choice{"edge", "prod", selecting("env", "dev"), selecting("tier", "gold")}, otherLabels},
		"everything but the group":            {choice{"edge", "dev", selecting("env", "prod"), selecting("tier", "gold")}, otherGroup},
		"everything but the group's labels":   {choice{"edge", "prod", selecting("env", "prod"), selecting("tier", "lead")}, otherGroupLabels},
		"a label of the cluster, not a group": {choice{clusterGroupSelector: selecting("env", "prod")}, otherGroupLabels},
	} {
		t.Run(name, func(t *testing.T) {
			criteria, err := test.choice.compile()
			require.Nil(t, err)
			c := compile(Facts{Bundle: bundle(), Groups: groups})
			certain, doubtful := c.groupsOf(edge)
			assert.Empty(t, doubtful)
			got := criteria.unmet(edge, certain)
			assert.Equal(t, test.want, got, got.String())
			assert.NotEmpty(t, got.String())
		})
	}
}

func TestAClusterWithoutADisplayNameIsNotFoundByAnEmptyOne(t *testing.T) {
	criteria, err := choice{clusterSelector: selecting("a", "b")}.compile()
	require.Nil(t, err)
	assert.False(t, criteria.matches(cluster("edge"), nil))
}

func TestAClusterInNoGroupCanBeAskedForTheAbsenceOfALabel(t *testing.T) {
	lonely := cluster("lonely")
	for selector, want := range map[*metav1.LabelSelector]bool{
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}: true,
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}:       false,
		selecting("tier", "gold"): false,
	} {
		criteria, err := choice{clusterGroupSelector: selector}.compile()
		require.Nil(t, err)
		assert.Equal(t, want, criteria.matches(lonely, nil))
	}
	criteria, err := choice{clusterGroup: "a", clusterGroupSelector: selecting()}.compile()
	require.Nil(t, err)
	assert.False(t, criteria.matches(lonely, nil))
}
