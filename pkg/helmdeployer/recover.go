package helmdeployer

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// look finds out how the release is, and makes it one that can be upgraded.
func (op *operation) look() error {
	revisions, err := op.config.Releases.History(op.name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		op.d.trusted.drop(op.namespace, op.name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("release %s/%s: %w", op.namespace, op.name, err)
	}
	for _, revision := range revisions {
		if op.d.isOutsized(op.ctx, op.namespace, op.name, revision) {
			return fmt.Errorf("release %s/%s: the record of revision %d is not this agent's, and larger than %d bytes: remove secret %s if it is not wanted",
				op.namespace, op.name, revision.Version, maxUnsealed, history.Key(op.name, revision.Version))
		}
	}
	op.d.trusted.keep(op.namespace, op.name, revisions)
	releaseutil.SortByRevision(revisions)
	op.last = revisions[len(revisions)-1]
	if op.deployed, err = op.config.Releases.Deployed(op.name); err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return fmt.Errorf("release %s/%s: %w", op.namespace, op.name, err)
	}
	if err := op.recover(); err != nil {
		return err
	}
	return op.findStrays(revisions)
}

// recover ends an operation that was interrupted: by the end of an agent, of a node, of an API server. Nobody else is at
// work on the release: within this process operations take turns, and another agent that lives still writes its record
// next, which fails then, because this write came first. A revision that did not get to its end is a failed one, and a
// failed one is upgraded. So is a release whose removal was interrupted: what is gone by then is made again.
func (op *operation) recover() error {
	status := op.last.Info.Status
	if !status.IsPending() && status != release.StatusUninstalling {
		return nil
	}
	op.client.Settle = status == release.StatusUninstalling
	op.last.Info.Status = release.StatusFailed
	op.last.Info.Deleted = helmtime.Time{}
	op.last.Info.Description = fmt.Sprintf("interrupted while it was %s", status)
	if err := op.config.Releases.Update(op.last); err != nil {
		return fmt.Errorf("release %s/%s was interrupted while it was %s: %w", op.namespace, op.name, status, err)
	}
	if op.deployed != nil && op.deployed.Version == op.last.Version {
		op.deployed = nil
	}
	return nil
}

// findStrays finds what failed attempts since the last good revision may have made. Helm compares with the last good one
// alone, and would leave it behind.
func (op *operation) findStrays(revisions []*release.Release) error {
	base := op.base()
	for _, revision := range revisions {
		failedSince := revision.Info.Status == release.StatusFailed && (op.deployed == nil || revision.Version > op.deployed.Version)
		if !failedSince || revision == base {
			continue
		}
		objects, err := render.Decode([]byte(revision.Manifest))
		if err != nil {
			return fmt.Errorf("release %s/%s, revision %d: %w", op.namespace, op.name, revision.Version, err)
		}
		infos, err := op.client.Infos(objects, true)
		if err != nil {
			return fmt.Errorf("release %s/%s, revision %d: %w", op.namespace, op.name, revision.Version, err)
		}
		op.client.Strays = append(op.client.Strays, infos...)
	}
	return nil
}

// base is the revision that an upgrade compares with.
func (op *operation) base() *release.Release {
	if op.deployed != nil {
		return op.deployed
	}
	return op.last
}

// isInstall says whether there is nothing to upgrade.
func (op *operation) isInstall() bool {
	return op.last == nil || op.last.Info.Status == release.StatusUninstalled
}
