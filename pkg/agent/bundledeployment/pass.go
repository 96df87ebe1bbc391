package bundledeployment

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// pass is one look at one BundleDeployment, and what is done about it.
type pass struct {
	*Reconciler
	session *attached
	// bd is shared with the cache. known is its status as far as that is known, status what it is to be.
	bd     *fleet.BundleDeployment
	known  *fleet.BundleDeploymentStatus
	status fleet.BundleDeploymentStatus
	log    *logrus.Entry

	// release is what is deployed, nil where that is nothing; deployed says that it was in this pass.
	release  *helmdeployer.Release
	deployed bool
	failures int
}

// run does what is due, in this order: load what is deployed, deploy, judge, put right, report, and last of all remove what
// is left of an earlier version.
func (p *pass) run(ctx context.Context) error {
	p.memory.about(p.bd.Name, func(n *note) {
		p.failures = n.failures
		if n.unsent != nil {
			p.status = *n.unsent.DeepCopy()
		}
	})
	if err := p.busy(p.bd.Name); err != nil {
		return errors.Join(p.failed(err), p.report(ctx))
	}
	missing, err := p.load(ctx)
	if err != nil && !p.isDue() { // a version that is due may replace what cannot be read
		return errors.Join(p.failed(err), p.report(ctx))
	}
	err = p.bringUp(ctx, missing)
	err = errors.Join(err, p.oversee(ctx))
	if err = errors.Join(err, p.report(ctx)); err != nil {
		return err
	}
	return p.dropLeft(ctx)
}

// load reads what is deployed, and says whether the release that the status names is not there.
func (p *pass) load(ctx context.Context) (missing bool, err error) {
	if p.status.Release == "" {
		return false, nil
	}
	release, err := p.Deployer.Load(ctx, p.status.Release, p.owner())
	switch {
	case errors.Is(err, helmdeployer.ErrNoRelease):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("release %s: %w", p.status.Release, err)
	}
	p.release = &release
	return false, nil
}

// owner is whose the release is, and on whose behalf it is put right.
func (p *pass) owner() helmdeployer.Owner {
	return helmdeployer.OwnerOf(p.bd.Name, p.bd.Spec.Options, isAgent(p.bd, p.session))
}

// bringUp deploys where that is due. What went wrong is in the status then, as far as it belongs there.
func (p *pass) bringUp(ctx context.Context, missing bool) error {
	due := missing || p.isDue()
	var err error
	if due || p.copiesAreDue() {
		err = p.prepare(ctx)
		due = due || p.isDue()
	}
	if err == nil && due {
		err = p.dependenciesMet()
		if err == nil {
			err = p.deploy(ctx)
		}
	}
	var waiting *waits
	if !errors.As(err, &waiting) {
		p.waiting.done(p.bd.Name)
	}
	if err == nil && !due && isFalse(p.status, fleet.BundleDeploymentConditionDeployed) {
		set(&p.status, fleet.BundleDeploymentConditionDeployed, true, "", p.Clock.Now()) // what failed was something on the way
	}
	return p.failed(err)
}

// isDue says whether what is deployed is not what is asked for.
func (p *pass) isDue() (due bool) {
	p.memory.about(p.bd.Name, func(n *note) { due = n.due })
	return due || p.bd.Spec.DeploymentID != p.status.AppliedDeploymentID || p.isRetried()
}

// prepare does what comes before a deployment. What is copied is looked at without one, too.
func (p *pass) prepare(ctx context.Context) error {
	if err := p.allowed(ctx); err != nil {
		return err
	}
	changed, err := p.copy(ctx)
	if changed {
		p.memory.about(p.bd.Name, func(n *note) { n.due = true })
	}
	return err
}

// dependenciesMet has the BundleDeployment come back when one that it waits for changes.
func (p *pass) dependenciesMet() error {
	if len(p.bd.Spec.DependsOn) == 0 {
		return nil
	}
	if err := p.waiting.begin(p.bd); err != nil {
		return &notTakenOn{err.Error()}
	}
	reason, err := unmet(p.bd, p.session.all())
	switch {
	case err != nil:
		return &notTakenOn{err.Error()}
	case reason != "":
		return &waits{reason}
	}
	return nil
}

// failed puts an error where it belongs: into the status, to be tried again, or both.
func (p *pass) failed(err error) error {
	if err == nil {
		return nil
	}
	if !isQuiet(err, p.failures) {
		notDeployed(&p.status, err.Error(), p.Clock.Now())
	}
	if isSettled(err) {
		p.log.Infof("Not deployed: %v", err)
		return nil
	}
	return err
}
