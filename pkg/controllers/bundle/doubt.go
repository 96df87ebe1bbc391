package bundle

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Definition reads the metadata of the definition of Bundles from the API server, nil where there is none.
type Definition func(context.Context) (*metav1.PartialObjectMetadata, error)

// doubt is what speaks against the end of a bundle being a wish to remove what it brought.
type doubt struct {
	// why is empty where nothing does: who deletes the kind, or the whole namespace, takes the hub away, or begins anew, and
	// does not think of what runs on clusters.
	why string
	// since is from when kind and namespace are what they are now. A bundle that is gone without this hub having seen its
	// deletion says nothing of deployments from before that.
	since time.Time
}

func (h *handler) doubt(namespace string) (doubt, error) {
	ns, err := found(h.Namespaces.Get(namespace, metav1.GetOptions{}))
	if err != nil {
		return doubt{}, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	definition, err := h.Definition(context.Background())
	if err != nil {
		return doubt{}, fmt.Errorf("reading the definition of Bundles: %w", err)
	}
	switch {
	case definition == nil || definition.DeletionTimestamp != nil:
		return doubt{why: "the definition of Bundles is deleted"}, nil
	case ns == nil || ns.DeletionTimestamp != nil:
		return doubt{why: "its whole namespace is deleted"}, nil
	}
	d := doubt{since: definition.CreationTimestamp.Time}
	if ns.CreationTimestamp.After(d.since) {
		d.since = ns.CreationTimestamp.Time
	}
	return d, nil
}

// toRemove are those of a bundle's deployments that go with it; the others stay, with what they deployed. unseen says that
// nobody saw the bundle go.
func (h *handler) toRemove(namespace, name string, existing []*fleet.BundleDeployment, unseen bool) ([]*fleet.BundleDeployment, error) {
	open := false
	for _, bd := range existing {
		open = open || !h.isLeaving(bd)
	}
	if !open {
		return existing, nil
	}
	d, err := h.doubt(namespace)
	if err != nil {
		return nil, err
	}
	var out []*fleet.BundleDeployment
	for _, bd := range existing {
		old := unseen && bd.CreationTimestamp.Time.Before(d.since)
		if h.isLeaving(bd) || d.why == "" && !old {
			out = append(out, bd)
		}
	}
	if kept := len(existing) - len(out); kept > 0 {
		why := d.why
		if why == "" {
			why = "it was of an earlier definition or namespace"
		}
		logrus.WithField("bundle", namespace+"/"+name).WithField("deployments", kept).
			Warnf("A bundle is gone and %s: what it deployed stays on its clusters. To remove it, make the bundle again and delete it alone, or delete its BundleDeployments", why)
	}
	return out, nil
}

// isLeaving says that a deployment is being removed already.
func (h *handler) isLeaving(bd *fleet.BundleDeployment) bool {
	return bd.DeletionTimestamp != nil || h.deployments.IsDeleted(bd)
}
