package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/agent/metrics"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// deploy installs or upgrades the release.
func (p *pass) deploy(ctx context.Context) error {
	if err := p.mayBegin(p.bd.Spec.Options); err != nil {
		return err
	}
	options, err := p.options(ctx)
	if err != nil {
		return err
	}
	access, err := p.chartAccess(ctx)
	if err != nil {
		return err
	}
	files, err := p.files(ctx)
	if err != nil {
		return err
	}
	origin, err := p.session.Origin(ctx, p.session.Namespace)
	if err != nil {
		return err
	}
	job := helmdeployer.Job{
		Origin: origin,
		Name:   p.bd.Name, ManifestID: manifestOf(p.bd.Spec.DeploymentID), Commit: p.bd.Labels[fleet.CommitLabel],
		Files: files, Chart: access, Options: options, Release: p.status.Release,
		Agent: isAgent(p.bd, p.session),
	}
	p.memory.about(p.bd.Name, func(n *note) { n.due = false })
	began := p.Clock.Now()
	var release helmdeployer.Release
	err = p.guard(ctx, stuckAfter(options, p.Pace), func(ctx context.Context) (err error) {
		release, err = p.Deployer.Deploy(ctx, job)
		return err
	})
	return p.deployEnded(release, err, p.Clock.Since(began))
}

// deployEnded says in the status how a deployment ended.
func (p *pass) deployEnded(release helmdeployer.Release, err error, took time.Duration) error {
	now := p.Clock.Now()
	var forbidden *helmdeployer.NamespaceForbidden
	switch {
	case err == nil:
		p.Metrics.Deployed(metrics.DeployDone, took)
		p.log.WithField("release", release.ID).Info("Deployed")
		deployed(&p.status, p.bd.Spec.DeploymentID, release.ID, now)
		p.release, p.deployed = &release, true
		p.contents.drop(manifestOf(p.bd.Spec.DeploymentID))
		return nil
	case errors.As(err, &forbidden):
		p.Metrics.Deployed(metrics.DeployFinal, took)
		notInstalled(&p.status, p.bd.Spec.DeploymentID, release.ID, err.Error(), now)
		p.memory.about(p.bd.Name, func(n *note) { n.retryAt = now.Add(p.Pace.Forbidden) })
		p.again(p.bd.Name, p.Pace.Forbidden)
		return nil
	case helmdeployer.IsFinal(err):
		p.Metrics.Deployed(metrics.DeployFinal, took)
		p.log.Warnf("Not installed: %v", err)
		notInstalled(&p.status, p.bd.Spec.DeploymentID, "", err.Error(), now)
		p.release = nil
		return nil
	}
	p.Metrics.Deployed(metrics.DeployFailed, took)
	p.memory.about(p.bd.Name, func(n *note) { n.due = true })
	if release.ID != "" { // it was applied, and something after that failed
		p.status.Release, p.release = release.ID, &release
	}
	return err
}

// isRetried says whether a namespace that could not be changed is due for another try.
func (p *pass) isRetried() (due bool) {
	if p.status.Release == "" || !isFalse(p.status, fleet.BundleDeploymentConditionInstalled) {
		return false
	}
	p.memory.about(p.bd.Name, func(n *note) { due = !p.Clock.Now().Before(n.retryAt) })
	return due
}

// stuckAfter is when a call of the deployer certainly hangs: it waits for hooks as well as for the release, and may take
// an atomic release back.
func stuckAfter(o fleet.BundleDeploymentOptions, pace Pace) time.Duration {
	limit := pace.Stuck
	if o.Helm != nil && o.Helm.TimeoutSeconds > 0 {
		limit += 3 * time.Duration(min(o.Helm.TimeoutSeconds, maxTimeoutSeconds)) * time.Second
	}
	return limit
}

// maxTimeoutSeconds bounds the time that a bundle may ask for: a day.
const maxTimeoutSeconds = 24 * 60 * 60

// allowed says whether the labels of the namespace let the bundle in.
func (p *pass) allowed(ctx context.Context) error {
	wanted := p.bd.Spec.Options.AllowedTargetNamespaceSelector
	if wanted == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(wanted)
	if err != nil {
		return &notTakenOn{fmt.Sprintf("allowedTargetNamespaceSelector: %v", err)}
	}
	name := helmdeployer.Namespace(p.bd.Spec.Options)
	namespace, err := p.Local.Namespace(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("target namespace %s does not exist on downstream cluster", name)
	case err != nil:
		return fmt.Errorf("target namespace %s: %w", name, err)
	case !selector.Matches(labels.Set(namespace.Labels)):
		return fmt.Errorf("target namespace %s does not match AllowedTargetNamespaceSelector (%s); namespace labels %v", name, selector, namespace.Labels)
	}
	return nil
}
