package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// oversee judges what is deployed, and puts right what others changed where that is wanted.
func (p *pass) oversee(ctx context.Context) error {
	if p.release == nil || !isMonitored(p.bd.Spec, p.status) {
		return nil
	}
	if p.Wanted != nil && isAgent(p.bd, p.session) {
		p.Wanted(p.release.Objects)
	}
	found, err := p.judge(ctx, p.deployed)
	if err != nil {
		return err
	}
	if !found.NonModified {
		if err := p.amend(ctx, found); err != nil {
			return err
		}
	}
	if p.release != nil && isMonitored(p.bd.Spec, p.status) {
		generation := p.bd.Spec.Options.ForceSyncGeneration
		p.status.SyncGeneration = &generation
	}
	return nil
}

// judge compares what is deployed with what is there. After a write of its own, what was found before counts no more.
func (p *pass) judge(ctx context.Context, afresh bool) (drift.Result, error) {
	previous := p.previous(ctx)
	found, err := p.Monitor.Status(ctx, p.bd.Name, drift.Wanted{
		Release: p.release.ID, Hash: hashOf(p.release.Objects, previous), Namespace: p.release.Namespace,
		Objects: p.release.Objects, Previous: previous, Options: p.bd.Spec.Options, Afresh: afresh,
	})
	if err != nil {
		if !isQuiet(err, p.failures) {
			notObserved(&p.status, err.Error(), p.Clock.Now())
		}
		return found, fmt.Errorf("looking at release %s: %w", p.release.ID, err)
	}
	observed(&p.status, found, p.Clock.Now())
	if found.Unwatched {
		p.again(p.bd.Name, p.Pace.Unwatched)
	}
	return found, nil
}

// hashOf is the label by which the objects of a bundle are known. A revision without objects has none to tell it; what the
// revision before left over is known by it all the same.
func hashOf(revisions ...[]*unstructured.Unstructured) string {
	for _, object := range slices.Concat(revisions...) {
		if hash := object.GetLabels()[drift.HashLabel]; hash != "" {
			return hash
		}
	}
	return ""
}

// previous are the objects of the revision before. Without it nothing counts as left over. That there is none is
// remembered: it does not come back, and is not asked for with each look.
func (p *pass) previous(ctx context.Context) []*unstructured.Unstructured {
	name, text, _ := strings.Cut(p.release.ID, ":")
	revision, err := strconv.Atoi(text)
	if err != nil || revision < 2 {
		return nil
	}
	first := false
	p.memory.about(p.bd.Name, func(n *note) { first = n.first == p.release.ID })
	if first {
		return nil
	}
	release, err := p.Deployer.Load(ctx, fmt.Sprintf("%s:%d", name, revision-1), p.owner())
	switch {
	case errors.Is(err, helmdeployer.ErrNoRelease):
		p.memory.about(p.bd.Name, func(n *note) { n.first = p.release.ID })
		return nil
	case err != nil:
		// What is deployed can be judged without it, and must be: the record before may be one that nobody can read.
		p.log.Debugf("The revision before %s cannot be read: %v", p.release.ID, err)
		return nil
	}
	return release.Objects
}

// way is how a release is put right.
type way string

const (
	leaveAlone  way = "left alone"
	deployAgain way = "deployed again"
	correct     way = "corrected"
)

// remedy says how a release is put right that others changed. The agent's own bundle is always kept as it should be;
// what another bundle had taken over and left, Helm makes anew, and so it does with a release whose record is gone.
func remedy(bd *fleet.BundleDeployment, status fleet.BundleDeploymentStatus, agent, recorded bool) way {
	options := bd.Spec.Options
	synced := status.SyncGeneration != nil && *status.SyncGeneration == options.ForceSyncGeneration
	switch {
	case !recorded, agent, options.ForceSyncGeneration > 0 && !synced, isOverwritten(options, status.ModifiedStatus):
		return deployAgain
	case bd.Spec.CorrectDrift != nil && bd.Spec.CorrectDrift.Enabled:
		return correct
	}
	return leaveAlone
}

// amend puts a release right, now or after the pause that is due, which grows while somebody else goes on changing it. What
// is not right after it, or right after a deployment, was changed in that very moment, or will not become right: nobody may
// tell of it again, so it is looked at once more after the pause.
func (p *pass) amend(ctx context.Context, found drift.Result) error {
	agent := isAgent(p.bd, p.session)
	recorded, err := p.isRecorded(ctx, found)
	if err != nil {
		return err
	}
	how := remedy(p.bd, p.status, agent, recorded)
	if how == leaveAlone || agent && p.TakenBack != nil && p.TakenBack(p.release.Objects) {
		return nil
	}
	if p.deployed {
		p.again(p.bd.Name, p.memory.untilAmend(p.bd.Name, p.Clock.Now(), p.Pace))
		return nil
	}
	if wait := p.memory.mayAmend(p.bd.Name, p.Clock.Now(), p.Pace); wait > 0 {
		p.again(p.bd.Name, wait)
		return nil
	}
	p.log.WithField("objects", namesOf(found.ModifiedStatus)).Infof("Others changed the release, it is %s", how)
	if how == deployAgain {
		err = p.failed(p.deploy(ctx))
	} else {
		err = p.correct(ctx)
	}
	if err != nil || p.release == nil || !isMonitored(p.bd.Spec, p.status) {
		return err
	}
	if found, err = p.judge(ctx, true); err == nil && !found.NonModified {
		p.again(p.bd.Name, p.memory.untilAmend(p.bd.Name, p.Clock.Now(), p.Pace))
	}
	return err
}

// isRecorded says whether the release is still recorded, of which a person with Helm may have taken it. Its objects are
// missing then; while none is, nobody is asked.
func (p *pass) isRecorded(ctx context.Context, found drift.Result) (bool, error) {
	missing := slices.ContainsFunc(found.ModifiedStatus, func(m fleet.ModifiedStatus) bool { return m.Create })
	if p.deployed || !missing {
		return true, nil
	}
	recorded, err := p.Deployer.Recorded(ctx, p.release.ID)
	if err != nil {
		return false, fmt.Errorf("whether release %s is still recorded: %w", p.release.ID, err)
	}
	return recorded, nil
}

// namesOf are objects without what was changed of them, which may be a secret.
func namesOf(modified []fleet.ModifiedStatus) []string {
	var out []string
	for _, object := range modified {
		out = append(out, strings.ToLower(object.Kind)+" "+object.Namespace+"/"+object.Name)
	}
	return out
}

// correct applies what is deployed once more. By a record that somebody else wrote nothing is done: the bundle itself is
// deployed again.
func (p *pass) correct(ctx context.Context) error {
	var release helmdeployer.Release
	err := p.guard(ctx, stuckAfter(p.bd.Spec.Options, p.Pace), func(ctx context.Context) (err error) {
		release, err = p.Deployer.Correct(ctx, p.release.ID, p.owner(), *p.bd.Spec.CorrectDrift)
		return err
	})
	p.Metrics.Corrected(err == nil)
	switch {
	case err == nil:
		p.release, p.status.Release = &release, release.ID
		p.log.WithField("release", release.ID).Info("Drift corrected")
		return nil
	case errors.Is(err, helmdeployer.ErrForeign):
		p.log.Warnf("The release is deployed again: %v", err)
		return p.failed(p.deploy(ctx))
	case errors.Is(err, helmdeployer.ErrNoRelease):
		return err // the next pass finds it missing, and deploys
	}
	set(&p.status, fleet.BundleDeploymentConditionReady, false, err.Error(), p.Clock.Now())
	return fmt.Errorf("correcting release %s: %w", p.release.ID, err)
}
