package bundledeployment

import (
	"context"
	"errors"
	"fmt"
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
	found, err := p.judge(ctx)
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

// judge compares what is deployed with what is there.
func (p *pass) judge(ctx context.Context) (drift.Result, error) {
	found, err := p.Monitor.Status(ctx, p.bd.Name, drift.Wanted{
		Hash: hashOf(p.release.Objects), Namespace: p.release.Namespace,
		Objects: p.release.Objects, Previous: p.previous(ctx), Options: p.bd.Spec.Options,
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

// hashOf is the label by which the objects of a release are known.
func hashOf(objects []*unstructured.Unstructured) string {
	for _, object := range objects {
		if hash := object.GetLabels()[drift.HashLabel]; hash != "" {
			return hash
		}
	}
	return ""
}

// previous are the objects of the revision before. Without it nothing counts as left over.
func (p *pass) previous(ctx context.Context) []*unstructured.Unstructured {
	name, text, _ := strings.Cut(p.release.ID, ":")
	revision, err := strconv.Atoi(text)
	if err != nil || revision < 2 {
		return nil
	}
	release, err := p.Deployer.Load(ctx, fmt.Sprintf("%s:%d", name, revision-1))
	if err != nil {
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
// what another bundle had taken over and left, Helm makes anew.
func remedy(bd *fleet.BundleDeployment, status fleet.BundleDeploymentStatus, agent, fresh bool) way {
	options := bd.Spec.Options
	synced := status.SyncGeneration != nil && *status.SyncGeneration == options.ForceSyncGeneration
	switch {
	case fresh:
		// It was deployed a moment ago: to do so again would not help.
	case agent, options.ForceSyncGeneration > 0 && !synced, isOverwritten(options, status.ModifiedStatus):
		return deployAgain
	case bd.Spec.CorrectDrift != nil && bd.Spec.CorrectDrift.Enabled:
		return correct
	}
	return leaveAlone
}

// amend puts a release right, now or after the pause that is due, which grows while somebody else goes on changing it.
func (p *pass) amend(ctx context.Context, found drift.Result) error {
	agent := isAgent(p.bd.Name, p.session.Cluster)
	how := remedy(p.bd, p.status, agent, p.deployed)
	if how == leaveAlone || agent && p.TakenBack != nil && p.TakenBack() {
		return nil
	}
	if wait := p.memory.mayAmend(p.bd.Name, p.Clock.Now(), p.Pace); wait > 0 {
		p.again(p.bd.Name, wait)
		return nil
	}
	p.log.WithField("objects", namesOf(found.ModifiedStatus)).Infof("Others changed the release, it is %s", how)
	var err error
	if how == deployAgain {
		err = p.failed(p.deploy(ctx))
	} else {
		err = p.correct(ctx)
	}
	if err != nil || p.release == nil || !isMonitored(p.bd.Spec, p.status) {
		return err
	}
	_, err = p.judge(ctx)
	return err
}

// namesOf are objects without what was changed of them, which may be a secret.
func namesOf(modified []fleet.ModifiedStatus) []string {
	var out []string
	for _, object := range modified {
		out = append(out, strings.ToLower(object.Kind)+" "+object.Namespace+"/"+object.Name)
	}
	return out
}

// correct applies what is deployed once more.
func (p *pass) correct(ctx context.Context) error {
	var release helmdeployer.Release
	err := p.guard(ctx, stuckAfter(p.bd.Spec.Options, p.Pace), func(ctx context.Context) (err error) {
		release, err = p.Deployer.Correct(ctx, p.release.ID, *p.bd.Spec.CorrectDrift)
		return err
	})
	p.Metrics.Corrected(err == nil)
	switch {
	case err == nil:
		p.release, p.status.Release = &release, release.ID
		p.log.WithField("release", release.ID).Info("Drift corrected")
		return nil
	case errors.Is(err, helmdeployer.ErrNoRelease):
		return err // the next pass finds it missing, and deploys
	}
	set(&p.status, fleet.BundleDeploymentConditionReady, false, err.Error(), p.Clock.Now())
	return fmt.Errorf("correcting release %s: %w", p.release.ID, err)
}
