package target

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// criteria choose clusters. All that are given must be met; without any, no cluster meets them.
type criteria struct {
	clusterName, clusterGroup string
	cluster, group            labels.Selector
}

// choice is the part that targets, restrictions and partitions have in common.
type choice struct {
	clusterName, clusterGroup             string
	clusterSelector, clusterGroupSelector *metav1.LabelSelector
}

func (c choice) compile() (criteria, *fieldError) {
	compiled := criteria{clusterName: c.clusterName, clusterGroup: c.clusterGroup}
	for _, s := range []struct {
		field string
		from  *metav1.LabelSelector
		to    *labels.Selector
	}{
		{"clusterSelector", c.clusterSelector, &compiled.cluster},
		{"clusterGroupSelector", c.clusterGroupSelector, &compiled.group},
	} {
		if s.from == nil {
			continue
		}
		read, err := selector(s.field, s.from)
		if err != nil {
			return criteria{}, asFieldError(s.field, err)
		}
		*s.to = read
	}
	return compiled, nil
}

func asFieldError(field string, err error) *fieldError {
	if already := (*fieldError)(nil); errors.As(err, &already) {
		return already
	}
	return &fieldError{field: field, err: err}
}

// matches says whether the cluster, which is in these groups, meets the criteria.
func (c criteria) matches(cluster *fleet.Cluster, groups []*fleet.ClusterGroup) bool {
	return c.unmet(cluster, groups) == met
}

// unmet is the first criterion that the cluster does not meet.
func (c criteria) unmet(cluster *fleet.Cluster, groups []*fleet.ClusterGroup) verdict {
	switch {
	case c.clusterName == "" && c.clusterGroup == "" && c.cluster == nil && c.group == nil:
		return noCriteria
	case c.clusterName != "" && c.clusterName != cluster.Name && c.clusterName != cluster.Labels[names.DisplayNameLabel]:
		return otherName
	case c.cluster != nil && !c.cluster.Matches(labels.Set(cluster.Labels)):
		return otherLabels
	case c.clusterGroup == "" && c.group == nil:
		return met
	}
	if len(groups) == 0 {
		// A cluster in no group is looked at as if it were in one without name and labels: a selector can ask for the
		// absence of a label.
		return c.unmetByGroup("", nil)
	}
	// One group has to meet both criteria.
	worst := otherGroup
	for _, group := range groups {
		switch result := c.unmetByGroup(group.Name, group.Labels); result {
		case met:
			return met
		case otherGroupLabels:
			worst = otherGroupLabels
		}
	}
	return worst
}

func (c criteria) unmetByGroup(name string, of map[string]string) verdict {
	switch {
	case c.clusterGroup != "" && c.clusterGroup != name:
		return otherGroup
	case c.group != nil && !c.group.Matches(labels.Set(of)):
		return otherGroupLabels
	}
	return met
}

// verdict is how a cluster stands to criteria.
type verdict int

const (
	met verdict = iota
	noCriteria
	otherName
	otherLabels
	otherGroup
	otherGroupLabels
)

// String is for people.
func (v verdict) String() string {
	return map[verdict]string{
		met:              "it matches",
		noCriteria:       "it has no criteria, and so matches no cluster",
		otherName:        "clusterName is neither the cluster's name nor its label " + names.DisplayNameLabel,
		otherLabels:      "clusterSelector does not match the cluster's labels",
		otherGroup:       "the cluster is not in the group of clusterGroup",
		otherGroupLabels: "clusterGroupSelector does not match the labels of a group that the cluster is in",
	}[v]
}
