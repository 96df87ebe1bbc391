package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/target"
)

// maxContents is how many contents of earlier versions are read to be compared.
const maxContents = 20

// bundleReader reads what a hub has of a bundle. What the person may not read is left out, and told.
type bundleReader struct {
	hub    *hub
	ctx    context.Context
	facts  delivery.Facts
	places []*corev1.Namespace
	// blind says that clusters which the bundle may choose are not all known: what they have must not look left over.
	blind bool
}

// readBundle gathers the facts about a bundle, which need not be stored on the hub.
func readBundle(ctx context.Context, h *hub, bundle *fleet.Bundle) (delivery.Facts, error) {
	r := &bundleReader{hub: h, ctx: ctx}
	r.facts.Bundle = bundle
	for _, read := range []func() error{r.readNamespaces, r.readCandidates, r.readRestrictions, r.readValues, r.readDeployments, r.readOutside} {
		if err := read(); err != nil {
			return r.facts, err
		}
	}
	return r.facts, nil
}

// may passes an error on, unless it only says that the person may not read something: that is told.
func (r *bundleReader) may(what, costs string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		r.facts.Unknown = append(r.facts.Unknown, fmt.Sprintf("you may not %s: %s", what, costs))
		r.blind = true
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (r *bundleReader) readNamespaces() error {
	err := eachItem(r.ctx, r.hub.clients.CoreV1().Namespaces().List, metav1.ListOptions{}, func(item runtime.Object) error {
		if ns, ok := item.(*corev1.Namespace); ok {
			r.places = append(r.places, ns)
		}
		return nil
	})
	if err == nil {
		r.facts.Namespaces = make(map[string]*corev1.Namespace, len(r.places))
		for _, ns := range r.places {
			r.facts.Namespaces[ns.Name] = ns
		}
	}
	return r.may("list namespaces", "whether clusters' namespaces are theirs, and which namespaces a BundleNamespaceMapping opens", err)
}

// readCandidates reads the clusters that the bundle may choose, and their groups.
func (r *bundleReader) readCandidates() error {
	bundle := r.facts.Bundle
	mappings, err := allAsIs[fleet.BundleNamespaceMapping](r.ctx, r.hub, kindMapping, bundle.Namespace, metav1.ListOptions{})
	if err = r.may("list bundlenamespacemappings", "clusters of other workspaces that the bundle may choose", err); err != nil {
		return err
	}
	r.blind = r.blind || target.MappingsProblem(bundle, mappings) != nil
	for _, namespace := range target.Candidates(bundle, mappings, r.places) {
		clusters, err := allAsIs[fleet.Cluster](r.ctx, r.hub, kindCluster, namespace, metav1.ListOptions{})
		if namespace == bundle.Namespace && err != nil {
			return fmt.Errorf("listing clusters: %w", err)
		}
		if err = r.may("list clusters of "+namespace, "whether the bundle chooses some of them", err); err != nil {
			return err
		}
		groups, err := allAsIs[fleet.ClusterGroup](r.ctx, r.hub, kindGroup, namespace, metav1.ListOptions{})
		if err = r.may("list clustergroups of "+namespace, "what is said of targets that name a group is not right", err); err != nil {
			return err
		}
		r.facts.Clusters, r.facts.Groups = append(r.facts.Clusters, clusters...), append(r.facts.Groups, groups...)
	}
	return nil
}

func (r *bundleReader) readRestrictions() (err error) {
	r.facts.Restrictions, err = allAsIs[fleet.GitRepoRestriction](r.ctx, r.hub, kindRestriction, r.facts.Bundle.Namespace, metav1.ListOptions{})
	return r.may("list gitreporestrictions", "what they add to the options of bundles from a GitRepo", err)
}

func (r *bundleReader) readValues() error {
	bundle := r.facts.Bundle
	if bundle.Spec.ValuesHash == "" {
		return nil
	}
	secret, err := r.hub.clients.CoreV1().Secrets(bundle.Namespace).Get(r.ctx, bundle.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		r.facts.Values = secret.Data
	}
	return r.may("get the Secret "+bundle.Namespace+"/"+bundle.Name, "the bundle's Helm values, and with them every version", err)
}

func (r *bundleReader) readDeployments() (err error) {
	options := metav1.ListOptions{LabelSelector: fleet.BundleLabel + "=" + names.LabelValue(r.facts.Bundle.Name)}
	err = eachAsIs(r.ctx, r.hub, kindDeployment, metav1.NamespaceAll, options, func(bd *fleet.BundleDeployment) {
		if bd.Name == r.facts.Bundle.Name {
			r.facts.Deployments = append(r.facts.Deployments, bd)
		}
	})
	return r.may("list bundledeployments", "what clusters have; all is told as if they had nothing", err)
}

// readOutside reads the clusters that have the bundle and can no longer be chosen.
func (r *bundleReader) readOutside() error {
	if r.blind {
		return nil
	}
	known := map[string]bool{}
	for _, cluster := range r.facts.Clusters {
		known[cluster.Namespace+"/"+cluster.Name] = true
	}
	for _, bd := range r.facts.Deployments {
		ns := r.facts.Namespaces[bd.Namespace]
		if ns == nil {
			continue
		}
		o := object{ns.Annotations[names.ClusterNamespaceAnnotation], ns.Annotations[names.ClusterAnnotation]}
		if o.workspace == "" || o.name == "" || known[o.String()] {
			continue
		}
		known[o.String()] = true
		cluster, err := oneAsIs[fleet.Cluster](r.ctx, r.hub, kindCluster, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err = r.may("get cluster "+o.String(), "whether it may still have the bundle", err); err != nil {
			return err
		}
		if cluster != nil {
			r.facts.Outside = append(r.facts.Outside, cluster)
		}
	}
	return nil
}

// readContents reads what the versions on clusters deliver, to be compared with what the bundle has.
func readContents(ctx context.Context, h *hub, facts *delivery.Facts) {
	facts.Contents = map[string]*content.Manifest{}
	for _, id := range delivery.Running(*facts) {
		if len(facts.Contents) == maxContents {
			facts.Unknown = append(facts.Unknown, fmt.Sprintf("clusters have more than %d contents: which files differ is not told of all", maxContents))
			return
		}
		stored, err := oneAsIs[fleet.Content](ctx, h, kindContent, object{name: id})
		if err == nil {
			facts.Contents[id], err = content.Decode(stored)
		}
		if err != nil {
			delete(facts.Contents, id)
			facts.Unknown = append(facts.Unknown, fmt.Sprintf("which files differ from Content %s: %v", id, err))
		}
	}
}
