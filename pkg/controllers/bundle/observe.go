package bundle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
	"github.com/rancher/fleet/pkg/target"
)

// input is what is known about a bundle.
type input struct {
	bundle *fleet.Bundle
	// still says that nothing may be written, see judgeAgent.
	still bool
	// manifest stands for the resources in the IDs of versions; content is the Content that holds them, empty where they
	// are somewhere else.
	manifest, content string
	facts             target.Facts
	targets           []target.Target
	refusals          []target.Refusal
	// outside are clusters of no candidate namespace that have the bundle.
	outside []*fleet.Cluster
	// existing are all deployments of the bundle, places what there is at each target.
	existing []*fleet.BundleDeployment
	places   map[types.NamespacedName]*place
	// labels are the bundle's, in one text.
	labels string
}

// place is where a target's deployment is, or will be.
type place struct {
	// namespace is the cluster's, on the hub. blocked says why nothing can be written there now.
	namespace, blocked string
	// deployment and secret are nil where they do not exist.
	deployment *fleet.BundleDeployment
	secret     *corev1.Secret
	// copies are what is copied to the cluster.
	copies copies
	// settled is what the deployment was last found to be in order for.
	settled settled
}

func (h *handler) observe(bundle *fleet.Bundle, res resources) (*input, error) {
	in := &input{
		bundle: bundle, manifest: res.id, content: res.content, places: map[types.NamespacedName]*place{},
		labels: labels.FormatLabels(bundle.Labels),
	}
	if err := h.observeFacts(in); err != nil {
		return nil, err
	}
	in.targets, in.refusals = target.Find(in.facts, in.manifest)
	var err error
	if in.existing, err = h.existing(bundle.Namespace, bundle.Name); err != nil {
		return nil, err
	}
	if err := h.observeOutside(in); err != nil {
		return nil, err
	}
	return in, h.observePlaces(in)
}

func (h *handler) observeFacts(in *input) error {
	bundle := in.bundle
	in.facts.Bundle = bundle
	mappings, err := h.Mappings.Cache().List(bundle.Namespace, labels.Everything())
	if err != nil {
		return fmt.Errorf("listing BundleNamespaceMappings: %w", err)
	}
	var namespaces []*corev1.Namespace
	if len(mappings) > 0 {
		if namespaces, err = h.Namespaces.Cache().List(labels.Everything()); err != nil {
			return fmt.Errorf("listing namespaces: %w", err)
		}
	}
	for _, namespace := range target.Candidates(bundle, mappings, namespaces) {
		clusters, err := h.candidates(bundle, namespace)
		if err != nil {
			return fmt.Errorf("listing clusters of %s: %w", namespace, err)
		}
		groups, err := h.Groups.Cache().List(namespace, labels.Everything())
		if err != nil {
			return fmt.Errorf("listing cluster groups of %s: %w", namespace, err)
		}
		in.facts.Clusters = append(in.facts.Clusters, clusters...)
		in.facts.Groups = append(in.facts.Groups, groups...)
	}
	if in.facts.Restrictions, err = h.Restrictions.Cache().List(bundle.Namespace, labels.Everything()); err != nil {
		return fmt.Errorf("listing GitRepoRestrictions: %w", err)
	}
	if bundle.Spec.ValuesHash == "" {
		return nil
	}
	secret, err := found(h.Secrets.Cache().Get(bundle.Namespace, bundle.Name))
	if err != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", bundle.Namespace, bundle.Name, err)
	}
	if secret != nil {
		in.facts.Values = secret.Data
	}
	return nil
}

// candidates are the clusters of a namespace that a bundle may choose, and those that have it: what it no longer chooses
// must be seen to be removed.
func (h *handler) candidates(bundle *fleet.Bundle, namespace string) ([]*fleet.Cluster, error) {
	named, all := namedClusters(bundle)
	if all {
		return h.Clusters.Cache().List(namespace, labels.Everything())
	}
	seen := map[types.UID]bool{}
	var clusters []*fleet.Cluster
	for _, name := range named {
		have, err := h.Clusters.Cache().GetByIndex(clustersByName, namespace+byName+name)
		if err != nil {
			return nil, err
		}
		for _, c := range have {
			if !seen[c.UID] {
				seen[c.UID] = true
				clusters = append(clusters, c)
			}
		}
	}
	deployments, err := h.existing(bundle.Namespace, bundle.Name)
	if err != nil {
		return nil, err
	}
	for _, bd := range deployments {
		if c := h.clusterOf(bd); c != nil && c.Namespace == namespace && !seen[c.UID] {
			seen[c.UID] = true
			clusters = append(clusters, c)
		}
	}
	return clusters, nil
}

// existing are the deployments of a bundle, as they are after what was written here.
func (h *handler) existing(namespace, name string) ([]*fleet.BundleDeployment, error) {
	cached, err := h.Deployments.Cache().GetByIndex(deploymentsByBundle, namespace+"/"+name)
	if err != nil {
		return nil, fmt.Errorf("listing the deployments: %w", err)
	}
	all := make([]*fleet.BundleDeployment, 0, len(cached))
	for _, bd := range cached {
		all = append(all, h.latest(bd))
	}
	return all, nil
}

// latest is a deployment that was listed, as it was written here since, or as the cache shows it by now.
func (h *handler) latest(listed *fleet.BundleDeployment) *fleet.BundleDeployment {
	if !h.deployments.IsBehind(listed) {
		return listed
	}
	latest, ok := h.deployments.Find(listed.Namespace, listed.Name)
	if !ok {
		var err error
		if latest, err = h.Deployments.Cache().Get(listed.Namespace, listed.Name); err != nil {
			return listed
		}
	}
	if latest.UID != listed.UID {
		return listed
	}
	return latest
}

// clusterOf is the Cluster in whose namespace a deployment is, nil where that is not known.
func (h *handler) clusterOf(bd *fleet.BundleDeployment) *fleet.Cluster {
	ns, err := h.Namespaces.Cache().Get(bd.Namespace)
	if err != nil {
		return nil
	}
	return h.clusterAt(ns)
}

// observeOutside finds the clusters that have the bundle and can no longer be chosen.
func (h *handler) observeOutside(in *input) error {
	known := map[types.UID]bool{}
	for _, c := range in.facts.Clusters {
		known[c.UID] = true
	}
	mappings, err := h.Mappings.Cache().List(in.bundle.Namespace, labels.Everything())
	if err != nil {
		return fmt.Errorf("listing BundleNamespaceMappings: %w", err)
	}
	if target.MappingsProblem(in.bundle, mappings) != nil {
		return nil // too few clusters may be known
	}
	for _, bd := range in.existing {
		if c := h.clusterOf(bd); c != nil && !known[c.UID] {
			known[c.UID] = true
			in.outside = append(in.outside, c)
		}
	}
	return nil
}

func (h *handler) observePlaces(in *input) error {
	byNamespace := make(map[string]*fleet.BundleDeployment, len(in.existing))
	for _, bd := range in.existing {
		byNamespace[bd.Namespace] = bd
	}
	for i := range in.targets {
		p, err := h.place(in.bundle, in.targets[i].Cluster, byNamespace)
		if err != nil {
			return err
		}
		in.places[in.targets[i].Key()] = p
	}
	for i := range in.refusals {
		p, err := h.place(in.bundle, in.refusals[i].Cluster, byNamespace)
		if err != nil {
			return err
		}
		in.places[in.refusals[i].Key()] = p
	}
	return nil
}

// place finds what a cluster has of the bundle. That the Cluster's status names a namespace is no proof that it is its own.
func (h *handler) place(bundle *fleet.Bundle, c *fleet.Cluster, deployments map[string]*fleet.BundleDeployment) (*place, error) {
	p := &place{namespace: c.Status.Namespace}
	if p.namespace == "" {
		p.blocked = "the cluster has no namespace on the hub yet"
		return p, nil
	}
	ns, err := found(h.Namespaces.Cache().Get(p.namespace))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading namespace %s: %w", p.namespace, err)
	case ns == nil || !registration.IsPlaceOf(ns, c):
		p.blocked = fmt.Sprintf("namespace %s, which the cluster's status names, is not there or is not the cluster's", p.namespace)
		return p, nil
	case ns.DeletionTimestamp != nil:
		p.blocked = fmt.Sprintf("namespace %s is being deleted", p.namespace)
	}
	if p.deployment = deployments[p.namespace]; p.deployment == nil {
		if p.deployment, err = h.unlisted(bundle, p.namespace); err != nil {
			return nil, err
		}
	}
	if bd := p.deployment; bd != nil && bd.DeletionTimestamp != nil {
		p.blocked = "an earlier deployment is still being removed"
	}
	if clone, suspected := registration.CloneOf(c.Annotations); suspected {
		p.blocked = clone.Message(c)
	}
	if p.deployment != nil {
		p.settled = h.settledAs(p.deployment.UID)
	}
	p.secret, err = h.valuesOf(p.namespace, bundle.Name, p.deployment)
	return p, err
}

// unlisted is a deployment that was made here and that the cache did not show yet when they were listed, or not as the
// bundle's. It is forgotten here once the cache shows it, which may have been since then: so the cache is asked last.
func (h *handler) unlisted(bundle *fleet.Bundle, namespace string) (*fleet.BundleDeployment, error) {
	bd, ok := h.deployments.Find(namespace, bundle.Name)
	if !ok {
		var err error
		if bd, err = found(h.Deployments.Cache().Get(namespace, bundle.Name)); err != nil || bd == nil {
			return nil, err
		}
	}
	if source, _ := bundleOf(bd); source != "" && source != bundle.Namespace {
		return nil, nil
	}
	return bd, nil
}
