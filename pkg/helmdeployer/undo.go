package helmdeployer

import (
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// errHalfway says that what a failed deployment changed could not be put back, which is tried again.
var errHalfway = errors.New("what the failed deployment changed could not be put back")

// isUndone says whether a deployment that fails is undone. The agent's own is not: it would end the agent.
func (op *operation) isUndone() bool { return op.job.helm().Atomic && !op.job.Agent }

// findFresh finds out which objects a first deployment makes, and which it takes over: from a release under another name,
// from people, or from a release whose record is gone. Only the former may go if it fails.
func (op *operation) findFresh(objects []*unstructured.Unstructured) error {
	op.client.Define(objects)
	infos, err := op.client.Infos(objects, false)
	if err != nil {
		return err
	}
	for _, info := range infos {
		live, err := cluster.Live(info)
		switch object, ok := info.Object.(*unstructured.Unstructured); {
		case err != nil:
			return err
		case live != nil:
			op.adopted = true
		case !ok || object.GetAnnotations()[kube.ResourcePolicyAnno] != kube.KeepPolicy:
			copied := *info
			op.fresh.Append(&copied)
		}
	}
	return nil
}

// undo puts back what a failed attempt changed, where the bundle wants that. An operation that was ended from outside is
// not undone: it is recovered.
func (op *operation) undo(failure error) error {
	if !op.isUndone() || op.ctx.Err() != nil {
		return failure
	}
	all, err := op.config.Releases.History(op.name)
	if err != nil {
		return failure // nothing was recorded, so nothing was changed
	}
	releaseutil.Reverse(all, releaseutil.SortByRevision)
	if op.last != nil && all[0].Version == op.last.Version {
		return failure
	}
	if op.last == nil && len(op.others) == 0 && !op.adopted {
		return op.undoInstall(failure)
	}
	for _, revision := range all {
		if status := revision.Info.Status; status == release.StatusDeployed || status == release.StatusSuperseded {
			return op.undoUpgrade(failure, revision)
		}
	}
	if op.last == nil || len(op.others) > 0 {
		return op.undoTakeover(failure)
	}
	return failure
}

// undoInstall removes what the first attempt made. There was no release before it, and no object.
func (op *operation) undoInstall(failure error) error {
	uninstall := action.NewUninstall(op.config)
	uninstall.Timeout = op.timeout()
	if _, err := uninstall.Run(op.name); err != nil {
		return errors.Join(failure, fmt.Errorf("an error occurred while uninstalling the release: %w", err))
	}
	return fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set: %w", op.name, failure)
}

// undoTakeover removes the objects that the attempt itself made. What was there before it stays, and so does the failed
// revision, which the next attempt upgrades.
func (op *operation) undoTakeover(failure error) error {
	if _, errs := op.client.DeleteWithPropagationPolicy(op.fresh, metav1.DeletePropagationBackground); len(errs) > 0 {
		return errors.Join(failure, fmt.Errorf("removing what release %s has made: %w: %w", op.name, errHalfway, errors.Join(errs...)))
	}
	op.takesBack = len(op.others) > 0
	if op.takesBack {
		return failure
	}
	return fmt.Errorf("release %s failed, and has been uninstalled due to atomic being set, but for what was there before it: %w", op.name, failure)
}

// takeBack applies again what the bundle has under another name, of which a failed attempt has changed and marked objects.
// It takes the turns of those releases: the operation has given back its own.
func (op *operation) takeBack(failure error) error {
	if !op.takesBack {
		return failure
	}
	last, err := op.config.Releases.Last(op.name)
	if err != nil {
		return errors.Join(failure, errHalfway, err)
	}
	var errs []error
	for _, other := range op.others {
		owner, revision := op.d.trusted.newest(other.Namespace, other.Name)
		if revision == 0 {
			owner = op.owner
			owner.Namespace, owner.Name, owner.Target = other.Namespace, other.Name, ""
		}
		_, err := op.d.correct(op.ctx, owner, fleet.CorrectDrift{}, correction{pick: newestDeployed, over: last.Manifest})
		switch {
		case err == nil:
		case errors.Is(err, driver.ErrReleaseNotFound): // it never was there as a whole
		case errors.Is(err, ErrForeign):
			failure = errors.Join(failure, err)
		default:
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(failure, fmt.Errorf("release %s, which the bundle had before: %w: %w", op.name, errHalfway, err))
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to atomic being set, to what the bundle had before: %w", op.name, failure)
}

// strayOthers has what the other releases set in objects that are taken over go, where this one does not want it: a port
// stands beside no other. What of it cannot be read stays.
func (op *operation) strayOthers() {
	for _, other := range op.others {
		records, err := history.Open(op.ctx, op.identity.Kube.CoreV1().Secrets(other.Namespace), other.Name, op.d.cfg.Now)
		if err != nil {
			debug("release %s/%s cannot be read: %v", other.Namespace, other.Name, err)
			continue
		}
		found, err := newestDeployed(records)
		if err != nil {
			continue
		}
		infos, err := strays(op.client, found.Manifest)
		if err != nil {
			debug("the objects of release %s/%s are not known: %v", other.Namespace, other.Name, err)
			continue
		}
		op.client.Strays = append(infos, op.client.Strays...)
	}
}

// strays are the objects of a manifest, those whose kinds are served.
func strays(client *cluster.Client, manifest string) (kube.ResourceList, error) {
	objects, err := render.Decode([]byte(manifest))
	if err != nil {
		return nil, err
	}
	return client.Infos(objects, true)
}

// newestDeployed is the revision that was applied well.
func newestDeployed(records *history.Records) (*release.Release, error) {
	found, err := records.List(func(r *release.Release) bool { return r.Info.Status == release.StatusDeployed })
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	releaseutil.Reverse(found, releaseutil.SortByRevision)
	return found[0], nil
}

// undoUpgrade rolls back to a revision, if it is the one that the agent knows: all that its record says is applied.
func (op *operation) undoUpgrade(failure error, to *release.Release) error {
	if err := op.d.vouch(op.ctx, op.owner, to); err != nil {
		return errors.Join(failure, fmt.Errorf("the release is not rolled back: %w", err))
	}
	rollback := action.NewRollback(op.config)
	rollback.Version, rollback.MaxHistory = to.Version, op.maxHistory()
	rollback.Wait, rollback.WaitForJobs, rollback.Timeout = true, op.job.helm().WaitForJobs, op.timeout()
	if err := rollback.Run(op.name); err != nil {
		return errors.Join(failure, fmt.Errorf("an error occurred while rolling back the release: %w", err))
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to atomic being set: %w", op.name, failure)
}
