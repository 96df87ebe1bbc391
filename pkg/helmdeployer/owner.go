package helmdeployer

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// ErrForeign says that the record of a release does not say of it what the hub does, or is not the one that the agent wrote:
// somebody else did. Nothing is done by it. The bundle can be deployed again.
var ErrForeign = errors.New("the record of the release is not what the agent wrote for the bundle")

// Owner is whose a release is, by what the hub says of the bundle. The record of a release says it too, but whoever may write
// Secrets in its namespace, as the account of a bundle may, can write any record: it never decides on whose behalf
// something is done.
type Owner struct {
	// BundleID is the name of the BundleDeployment.
	BundleID string
	// Namespace and Name are those of the release, Target the namespace that all of its objects are in; empty if they may be
	// in any.
	Namespace, Name, Target string
	// ServiceAccount is the one that the bundle names.
	ServiceAccount string
	// Agent says that it is the bundle of the agent itself.
	Agent bool
}

// OwnerOf is the owner of the release of a bundle.
func OwnerOf(bundleID string, options fleet.BundleDeploymentOptions, agent bool) Owner {
	return Owner{
		BundleID: bundleID, Namespace: Namespace(options), Name: ReleaseName(bundleID, options), Target: options.TargetNamespace,
		ServiceAccount: options.ServiceAccount, Agent: agent,
	}
}

// agree compares what a record says with what the hub does.
func (d *Deployer) agree(owner Owner, found *release.Release) error {
	notes := notesOf(found)
	for _, said := range []struct{ what, record, hub string }{
		{"namespace", found.Namespace, owner.Namespace},
		{"release name", found.Name, owner.Name},
		{"bundle", notes[bundleIDAnnotation], owner.BundleID},
		{"agent namespace", notes[agentNamespaceAnnotation], d.cfg.Namespace},
		{"service account", notes[accountAnnotation], owner.ServiceAccount},
	} {
		if said.record != said.hub {
			return fmt.Errorf("release %s/%s:%d: its record has the %s %.80q, and the bundle %.80q: %w",
				owner.Namespace, owner.Name, found.Version, said.what, said.record, said.hub, ErrForeign)
		}
	}
	return nil
}

// vouch says whether a record is the one that this agent wrote or read before. One that it does not know counts if it agrees
// with the hub and bears the agent's seal, and is known from then on.
func (d *Deployer) vouch(ctx context.Context, owner Owner, found *release.Release) error {
	known, same := d.trusted.knows(owner.Namespace, owner.Name, found)
	switch {
	case same:
		return nil
	case known:
		return fmt.Errorf("release %s/%s:%d: its record was changed: %w", owner.Namespace, owner.Name, found.Version, ErrForeign)
	}
	if err := d.agree(owner, found); err != nil {
		return err
	}
	if d.isStrict() && !d.isSealed(ctx, owner.Namespace, owner.Name, found) {
		return fmt.Errorf("release %s/%s:%d: its record does not bear this agent's seal: %w", owner.Namespace, owner.Name, found.Version, ErrForeign)
	}
	d.trusted.add(owner, found)
	return nil
}

// notesOf are the annotations of the chart of a release.
func notesOf(found *release.Release) map[string]string {
	if found.Chart == nil || found.Chart.Metadata == nil {
		return nil
	}
	return found.Chart.Metadata.Annotations
}
