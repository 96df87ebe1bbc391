package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Find chooses the clusters that get the bundle, and makes the options of each. Both lists are sorted by the namespace and
// name of the cluster, and no cluster is in both.
//
// Targets share what is equal in their options: replace a field of Options or of Options.Helm, but change nothing deeper.
func Find(facts Facts, manifestID string) ([]Target, []Refusal) {
	c := compile(facts)
	var targets []Target
	var refusals []Refusal
	for _, cluster := range sorted(facts.Clusters) {
		target, refusal := c.find(cluster, manifestID)
		switch {
		case refusal != nil:
			refusals = append(refusals, *refusal)
		case target != nil:
			targets = append(targets, *target)
		}
	}
	return targets, refusals
}

// find is for one cluster. Nothing and nil means that it does not get the bundle.
func (c *compiled) find(cluster *fleet.Cluster, manifestID string) (*Target, *Refusal) {
	if why := leftAlone(cluster); why != nil {
		return nil, &Refusal{Cluster: cluster, Field: why.field, Err: why.err, Quiet: true}
	}
	refuse := func(why *fieldError) (*Target, *Refusal) {
		return nil, &Refusal{Cluster: cluster, Field: why.field, Err: why.err}
	}
	if c.problem != nil {
		return refuse(c.problem)
	}
	d, why := c.decide(cluster)
	if why != nil {
		return refuse(why)
	}
	if !d.targeted() {
		return nil, nil
	}
	if why := reserved(c.bundle, cluster); why != nil {
		return refuse(why)
	}
	v := c.version(d, manifestID)
	if v.err != nil {
		return refuse(v.err)
	}
	t := &Target{Cluster: cluster, Options: v.options, DeploymentID: v.id}
	helm := *v.options.Helm
	t.Options.Helm = &helm
	if v.ofCluster() {
		if t.Options.Helm, why = c.render(v, cluster); why != nil {
			return refuse(why)
		}
		id, err := DeploymentID(manifestID, t.Options)
		if err != nil {
			return refuse(&fieldError{field: valuesField, err: bounded(err)})
		}
		t.DeploymentID = id
	}
	t.Groups, _ = c.groupsOf(cluster)
	t.NamespaceLabels, t.NamespaceAnnotations = orEmpty(t.Options.NamespaceLabels), orEmpty(t.Options.NamespaceAnnotations)
	return t, nil
}

// leftAlone says why nothing is written for a cluster, nor removed: others take care of it.
func leftAlone(cluster *fleet.Cluster) *fieldError {
	switch {
	case cluster.DeletionTimestamp != nil:
		return &fieldError{field: "metadata.deletionTimestamp", err: errors.New("the cluster is being deleted")}
	case cluster.Spec.Revoked:
		return &fieldError{field: "spec.revoked", err: errors.New("the cluster was revoked: readmit it to deploy to it again")}
	}
	return nil
}

// reserved says that a bundle has a name that Fleet needs for its own in the cluster's namespace. Under the name of the
// cluster's agent bundle both would be one deployment there, and what is deployed for the agent is deployed with all of its
// rights. The Secret with the bundle's values would lie where the renewed credential of the agent is to be.
func reserved(bundle *fleet.Bundle, cluster *fleet.Cluster) *fieldError {
	refuse := func(what string) *fieldError {
		return &fieldError{field: "metadata.name", err: fmt.Errorf("on this cluster the name is reserved for %s: give this bundle another name", what)}
	}
	switch {
	case names.IsAgentBundle(bundle, cluster): // it has no values, whatever the cluster's name makes of its own
		return nil
	case bundle.Name == names.AgentBundle(cluster.Name):
		return refuse("the bundle of its agent, which the hub makes")
	case bundle.Name == names.RenewedCredentialSecret:
		return refuse("the credential of its agent")
	}
	return nil
}

func sorted(clusters []*fleet.Cluster) []*fleet.Cluster {
	return slices.SortedFunc(slices.Values(clusters), func(a, b *fleet.Cluster) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
