package bundle

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	// missingFor is how long a bundle has to be missing before what it left behind is removed, where nobody saw it go: from a
	// backup, deployments may come back before their bundles.
	missingFor = 5 * time.Minute
	// keptFor is how long it is not asked again whether that stays.
	keptFor = 10 * time.Minute
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
	// about are the kind and the namespace that it is about, by their UIDs.
	about string
}

// verdict is that deployments stay whose bundle is gone, and why: it is told once, and not looked at again at each report of
// an agent.
type verdict struct {
	about, why string
	// until is when it is looked at again: who takes a kind or a namespace away may bring it back.
	until time.Time
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
	var d doubt
	if definition != nil {
		d.about = string(definition.UID)
	}
	if ns != nil {
		d.about += "/" + string(ns.UID)
	}
	switch {
	case definition == nil || definition.DeletionTimestamp != nil:
		d.why = "the definition of Bundles is deleted"
		return d, nil
	case ns == nil || ns.DeletionTimestamp != nil:
		d.why = "its whole namespace is deleted"
		return d, nil
	}
	d.since = definition.CreationTimestamp.Time
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
		h.keep(namespace+"/"+name, d, kept)
	}
	return out, nil
}

// keep notes that deployments stay, and tells it where that is new.
func (h *handler) keep(key string, d doubt, kept int) {
	now := verdict{about: d.about, why: d.why, until: h.Clock.Now().Add(keptFor)}
	if now.why == "" {
		now.why = "it was of an earlier definition or namespace"
	}
	known, _ := h.kept.Swap(key, now)
	if before, _ := known.(verdict); before.about == now.about && before.why == now.why {
		return
	}
	logrus.WithField("bundle", key).WithField("deployments", kept).
		Warnf("A bundle is gone and %s: what it deployed stays on its clusters. To remove it, make the bundle again and delete it alone, or delete its BundleDeployments", now.why)
}

// isKept says that what a bundle left behind was found not long ago to stay.
func (h *handler) isKept(key string) bool {
	known, _ := h.kept.Load(key)
	v, ok := known.(verdict)
	return ok && h.Clock.Now().Before(v.until)
}

// isLeaving says that a deployment is being removed already.
func (h *handler) isLeaving(bd *fleet.BundleDeployment) bool {
	return bd.DeletionTimestamp != nil || h.deployments.IsDeleted(bd)
}
