package helmdeployer

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// Correct applies a release again as it was recorded: what others changed of it is set back, what is gone is made again.
// That is a rollback to the current revision which leaves no new revision behind, however often it happens. With force,
// objects that cannot be changed are removed and made again. It is ErrForeign where the record is not what the owner's is.
func (d *Deployer) Correct(ctx context.Context, releaseID string, owner Owner, how fleet.CorrectDrift) (Release, error) {
	id, err := history.ParseID(releaseID)
	if err != nil {
		return Release{}, err
	}
	if id.Namespace != owner.Namespace || id.Name != owner.Name {
		return Release{}, fmt.Errorf("release %s: the bundle's is %s/%s: %w", id, owner.Namespace, owner.Name, ErrForeign)
	}
	return d.correct(ctx, owner, how, correction{pick: func(records *history.Records) (*release.Release, error) { return currentRevision(records, id) }})
}

// correction is which revision is applied again, and the manifest of another release that has changed its objects since.
type correction struct {
	pick func(*history.Records) (*release.Release, error)
	over string
}

// correct applies a revision again. Whose release it is decides on whose behalf it is read and written.
func (d *Deployer) correct(ctx context.Context, owner Owner, how fleet.CorrectDrift, what correction) (Release, error) {
	end, err := d.turns.take(ctx, owner.Namespace, owner.Name)
	if err != nil {
		return Release{}, err
	}
	defer end()
	identity, err := d.onBehalf(ctx, owner)
	if err != nil {
		return Release{}, err
	}
	records, err := history.Open(ctx, identity.Kube.CoreV1().Secrets(owner.Namespace), owner.Name, d.cfg.Now)
	if err != nil {
		return Release{}, err
	}
	d.keep(ctx, records, owner)
	current, err := what.pick(records)
	if err != nil {
		return Release{}, err
	}
	if err := errors.Join(d.agree(owner, current), d.vouch(ctx, owner, current)); err != nil {
		return Release{}, err
	}
	client := identity.NewClient(ctx, cluster.Release{Namespace: owner.Namespace, Name: owner.Name, Force: owner.Target}, debug)
	if client.Strays, err = strays(client, what.over); err != nil {
		return Release{}, err
	}
	if err := reapply(client, current, how.Force); err != nil {
		err = fmt.Errorf("correcting release %s/%s:%d: %w", owner.Namespace, owner.Name, current.Version, err)
		if how.KeepFailHistory && ctx.Err() == nil {
			err = errors.Join(err, recordFailure(identity, client, records, current, err))
		}
		return Release{}, err
	}
	return d.read(current)
}

// currentRevision is the revision that is meant, if it is still the one that is deployed.
func currentRevision(records *history.Records, id history.ID) (*release.Release, error) {
	found, err := records.Get(id.Key())
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, fmt.Errorf("release %s: %w", id, ErrNoRelease)
	}
	if err != nil {
		return nil, err
	}
	newer, err := records.List(func(r *release.Release) bool {
		// A failed revision behind it is a correction that failed, or an upgrade that is tried again.
		return r.Version > id.Revision && r.Info.Status != release.StatusFailed
	})
	if err != nil {
		return nil, err
	}
	if found.Info.Status != release.StatusDeployed || len(newer) > 0 {
		return nil, fmt.Errorf("release %s is not what is deployed (it is %s): %w", id, found.Info.Status, ErrTaken)
	}
	return found, nil
}

func reapply(client *cluster.Client, current *release.Release, force bool) error {
	objects, err := render.Decode([]byte(current.Manifest))
	if err != nil {
		return err
	}
	client.Define(objects)
	infos, err := client.Infos(objects, false)
	if err != nil {
		return err
	}
	if err := client.Own(infos); err != nil {
		return err
	}
	_, err = client.UpdateThreeWayMerge(infos, infos, force)
	return err
}

// recordFailure keeps a correction that failed in the history, as a person wants it who looks there.
func recordFailure(identity *cluster.Identity, client *cluster.Client, records *history.Records, current *release.Release, failure error) error {
	config := configure(identity, client, records)
	last, err := config.Releases.Last(current.Name)
	if err != nil {
		return err
	}
	failed := *current
	info := *current.Info
	info.Status, info.Description = release.StatusFailed, failure.Error()
	failed.Info, failed.Version = &info, last.Version+1
	config.Releases.MaxHistory = revisions
	return config.Releases.Create(&failed)
}
