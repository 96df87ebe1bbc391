package helmdeployer

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// Load reads back a release that a status on the hub names, of the bundle that it names it for. It is ErrNoRelease where the
// release is not recorded, or not as the agent has known it. A record that does not bear the agent's seal is read all the
// same, as those of other agents are: by it nothing is done but to compare. The objects are the caller's own.
func (d *Deployer) Load(ctx context.Context, releaseID string, owner Owner) (Release, error) {
	id, err := history.ParseID(releaseID)
	if err != nil {
		return Release{}, err
	}
	if objects, ok := d.loaded.get(id.String()); ok {
		return Release{ID: id.String(), Namespace: id.Namespace, Objects: objects}, nil
	}
	self, err := d.self()
	if err != nil {
		return Release{}, err
	}
	found, err := history.Read(ctx, self.Kube.CoreV1(), id)
	if err != nil {
		return Release{}, err
	}
	if known, same := d.trusted.knows(id.Namespace, id.Name, found); known && !same {
		return Release{}, fmt.Errorf("release %s: its record was changed by somebody else: %w", id, ErrNoRelease)
	}
	if d.isOutsized(ctx, id.Namespace, id.Name, found) {
		return Release{}, fmt.Errorf("release %s: its record is not this agent's, and larger than %d bytes: %w", id, maxUnsealed, ErrNoRelease)
	}
	if id.Namespace == owner.Namespace && id.Name == owner.Name {
		d.trusted.name(id.Namespace, id.Name, owner.BundleID)
		agrees := found.Version == id.Revision && d.agree(owner, found) == nil
		if agrees && (!d.isStrict() || d.isSealed(ctx, id.Namespace, id.Name, found)) {
			d.trusted.add(owner, found)
		}
	}
	return d.read(found)
}

// Recorded says whether a release is recorded, as its status has it. It asks the cluster: a record can be removed.
func (d *Deployer) Recorded(ctx context.Context, releaseID string) (bool, error) {
	id, err := history.ParseID(releaseID)
	if err != nil {
		return false, nil
	}
	self, err := d.self()
	if err != nil {
		return false, err
	}
	return history.Exists(ctx, self.Metadata, id)
}

// read takes the objects out of a record, and remembers them.
func (d *Deployer) read(found *release.Release) (Release, error) {
	id := history.ID{Namespace: found.Namespace, Name: found.Name, Revision: found.Version}
	objects, err := render.Decode([]byte(found.Manifest))
	if err != nil {
		return Release{ID: id.String(), Namespace: id.Namespace}, fmt.Errorf("release %s: %w", id, err)
	}
	d.place(objects, found.Namespace)
	d.loaded.put(id.String(), objects)
	return Release{ID: id.String(), Namespace: found.Namespace, Objects: objects}, nil
}

// place fills in the namespaces that other agents leave out of their records.
func (d *Deployer) place(objects []*unstructured.Unstructured, namespace string) {
	for _, object := range objects {
		if object.GetNamespace() != "" {
			continue
		}
		// A kind that is not served any more has no objects whose namespace could matter.
		if namespaced, err := d.cluster.Namespaced(object.GroupVersionKind()); err == nil && namespaced {
			object.SetNamespace(namespace)
		}
	}
}
