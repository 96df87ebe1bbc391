package delivery

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
	"github.com/rancher/fleet/pkg/target"
)

// Facts is what a hub has of a bundle, as far as the person who asks may read it.
type Facts struct {
	target.Facts
	// Deployments are all BundleDeployments that have the bundle's name, those of bundles of other namespaces included.
	Deployments []*fleet.BundleDeployment
	// Outside are clusters of no candidate namespace that have a deployment of the bundle.
	Outside []*fleet.Cluster
	// Namespaces are those of the clusters, by name; nil where they may not be read.
	Namespaces map[string]*corev1.Namespace
	// Contents are what was read of the versions that clusters have, by name.
	Contents map[string]*content.Manifest
	// Sources are what Copied names, as it is now on the hub; nil of one that is not there. What is missing here was not looked
	// at, and counts as unchanged.
	Sources map[deployment.Copy]runtime.Object
	// Unknown says what could not be read.
	Unknown []string
}

// Content is what a bundle delivers.
type Content struct {
	// ID names it. It is empty for a chart that a repository has.
	ID string `json:"id,omitempty"`
	// Resources is how many files it has, Size how many bytes the object is that holds them, Limit how many that may be.
	Resources int `json:"resources,omitempty"`
	Size      int `json:"size,omitempty"`
	Limit     int `json:"limit,omitempty"`
	// From says where it is, if not in the hub.
	From string `json:"from,omitempty"`
	// Problem says why it cannot be sent.
	Problem string `json:"problem,omitempty"`

	manifest *content.Manifest
	object   *fleet.Content
}

// contentOf is the content of a bundle.
func contentOf(bundle *fleet.Bundle) Content {
	switch {
	case bundle.Spec.HelmOpOptions != nil:
		return Content{ID: bundle.Spec.ContentsID, From: "a chart's repository"}
	case bundle.Spec.ContentsID != "":
		return Content{ID: bundle.Spec.ContentsID, From: "a registry"}
	}
	c := Content{Resources: len(bundle.Spec.Resources), Limit: content.MaxObject}
	var err error
	if c.manifest, err = content.New(bundle.Spec.Resources); err != nil {
		c.Problem = err.Error()
		return c
	}
	c.ID = c.manifest.ID()
	if c.object, err = c.manifest.Content(); err != nil {
		c.Problem = err.Error()
		var large *content.TooLargeError
		if errors.As(err, &large) {
			c.Size, c.Limit = large.Size, large.Limit
		}
		return c
	}
	c.Size = base64.StdEncoding.EncodedLen(len(c.object.Content)) // as the API server keeps it
	return c
}

// Object is what the hub stores of it, nil where that is nothing.
func (c Content) Object() *fleet.Content { return c.object }

// place is what there is of the bundle at a cluster.
type place struct {
	deployment *fleet.BundleDeployment
	// blocked says why nothing can be written there.
	blocked string
}

// place finds what a cluster has of the bundle. That the Cluster's status names a namespace is no proof that it is its own.
func (f Facts) place(cluster *fleet.Cluster) place {
	namespace := cluster.Status.Namespace
	if namespace == "" {
		return place{blocked: "the cluster has no namespace on the hub yet"}
	}
	var p place
	if f.Namespaces != nil {
		switch ns := f.Namespaces[namespace]; {
		case ns == nil || !registration.IsPlaceOf(ns, cluster):
			return place{blocked: fmt.Sprintf("namespace %s, which the cluster's status names, is not there or is not the cluster's", namespace)}
		case ns.DeletionTimestamp != nil:
			p.blocked = fmt.Sprintf("namespace %s is being deleted", namespace)
		}
	}
	for _, bd := range f.Deployments {
		if bd.Namespace != namespace {
			continue
		}
		if !f.owns(bd) {
			p.blocked = fmt.Sprintf("BundleDeployment %s/%s belongs to the bundle of that name in namespace %s: rename one of them",
				namespace, bd.Name, bd.Labels[fleet.BundleNamespaceLabel])
			continue
		}
		p.deployment = bd
		if bd.DeletionTimestamp != nil {
			p.blocked = "an earlier deployment is still being removed"
		}
	}
	if clone, suspected := registration.CloneOf(cluster.Annotations); suspected {
		p.blocked = clone.Message(cluster)
	}
	return p
}

// owns says whether a deployment is one of the bundle.
func (f Facts) owns(bd *fleet.BundleDeployment) bool {
	return bd.Name == f.Bundle.Name && bd.Labels[fleet.BundleNamespaceLabel] == f.Bundle.Namespace &&
		bd.Labels[fleet.BundleLabel] == names.LabelValue(f.Bundle.Name)
}

// own are the deployments of the bundle.
func (f Facts) own() []*fleet.BundleDeployment {
	var own []*fleet.BundleDeployment
	for _, bd := range f.Deployments {
		if f.owns(bd) {
			own = append(own, bd)
		}
	}
	return own
}

// isSilent says whether a cluster is known not to answer.
func isSilent(cluster *fleet.Cluster) bool {
	condition := conditions.GetCondition(cluster.Status.Conditions, fleet.ClusterConditionAgentConnected)
	return condition != nil && condition.Status == corev1.ConditionFalse
}

// isHeld says that nothing new may reach a cluster.
func isHeld(cluster *fleet.Cluster) bool {
	_, suspected := registration.CloneOf(cluster.Annotations)
	return suspected
}

func keyOf(cluster *fleet.Cluster) types.NamespacedName {
	return types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
}

// manifestOf is the part of a version's ID that names the content.
func manifestOf(id string) string {
	name, _, _ := strings.Cut(id, ":")
	return name
}

// Running are the names of the contents that the bundle's deployments tell clusters to run, sorted, without the bundle's
// own.
func Running(facts Facts) []string {
	seen := map[string]bool{}
	for _, bd := range facts.own() {
		seen[manifestOf(bd.Spec.DeploymentID)] = true
	}
	delete(seen, "")
	delete(seen, contentOf(facts.Bundle).ID)
	return slices.Sorted(maps.Keys(seen))
}
