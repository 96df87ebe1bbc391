package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// remove takes away what was deployed for a BundleDeployment that the cache does not have. That alone says nothing: the
// hub is asked, twice with a moment in between, and each time it has to say itself that there is none of that name, in a
// namespace that it keeps, of a kind that it serves. A hub that is taken down, or a credential that is refused, therefore
// removes nothing. What another hub wanted, or this one for a Cluster that is gone, is not for it to say.
func (r *Reconciler) remove(ctx context.Context, session *attached, name string, log *logrus.Entry) error {
	if err := r.busy(name); err != nil {
		return err
	}
	r.waiting.done(name)
	releases, err := r.releasesOf(ctx, name)
	if err != nil {
		return err
	}
	deciding, err := r.deciding(ctx, releases)
	if err != nil {
		return err
	}
	foreign, err := r.isForeign(ctx, session, name, deciding, log)
	if foreign || err != nil {
		return err
	}
	wait, err := r.isCertain(ctx, session, name)
	switch {
	case err != nil:
		return err
	case wait > 0:
		r.again(name, wait)
		return nil
	}
	r.Monitor.Forget(name)
	r.removing(session)
	if err := r.takeAway(ctx, session, name, deciding, log); err != nil {
		r.Metrics.Removed(metrics.RemoveFailed)
		return fmt.Errorf("removing what was deployed for %s: %w", name, err)
	}
	r.memory.drop(name)
	r.removed(ctx, session)
	return nil
}

func (r *Reconciler) releasesOf(ctx context.Context, name string) ([]helmdeployer.Deployed, error) {
	all, err := r.Deployer.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("releases of %s: %w", name, err)
	}
	var out []helmdeployer.Deployed
	for _, release := range all {
		if release.BundleID == name {
			out = append(out, release)
		}
	}
	return out, nil
}

// deciding are those of a bundle's releases that decide what becomes of it: the proven ones. Whoever may write Secrets anywhere
// can write a record that calls itself that bundle. Where none is proven all count, and nothing but records is removed.
func (r *Reconciler) deciding(ctx context.Context, releases []helmdeployer.Deployed) ([]helmdeployer.Deployed, error) {
	var proven []helmdeployer.Deployed
	for _, release := range releases {
		ok, err := r.Deployer.Proven(ctx, release)
		if err != nil {
			return nil, fmt.Errorf("whether release %s/%s is this agent's: %w", release.Namespace, release.Name, err)
		}
		if ok {
			proven = append(proven, release)
		}
	}
	if len(proven) > 0 {
		return proven, nil
	}
	return releases, nil
}

// isForeign says that a release of a bundle comes from another hub, or from an earlier life of the Cluster: a cluster that
// moves keeps what it has, until a bundle of the same name takes it over or somebody removes it.
func (r *Reconciler) isForeign(ctx context.Context, session *attached, name string, releases []helmdeployer.Deployed, log *logrus.Entry) (bool, error) {
	if len(releases) == 0 || hasAgent(name, session, releases) { // a record of an agent is only forgotten
		return false, nil
	}
	origin, err := session.Origin(ctx, session.Namespace)
	if err != nil {
		return false, fmt.Errorf("what was deployed for %s is kept: %w", name, err)
	}
	if origin == "" || !slices.ContainsFunc(releases, func(d helmdeployer.Deployed) bool { return d.Origin != "" && d.Origin != origin }) {
		return false, nil
	}
	r.memory.about(name, func(n *note) {
		if !n.foreign {
			log.Info("Deployed for another hub, or for a Cluster that is gone: it stays")
		}
		n.foreign = true
	})
	return true, nil
}

// isCertain says whether a BundleDeployment is gone for certain, or after which time to ask again.
func (r *Reconciler) isCertain(ctx context.Context, session *attached, name string) (wait time.Duration, err error) {
	asked := r.Clock.Now()
	if err := isGone(ctx, session, name); err != nil {
		r.memory.about(name, func(n *note) { n.missing = time.Time{} })
		if hub.AnswerOf(errors.Unwrap(err)) == hub.Unauthorized && session.Refused != nil {
			session.Refused()
		}
		return 0, err
	}
	r.memory.about(name, func(n *note) {
		if n.missing.IsZero() {
			n.missing = asked
		}
		wait = r.Pace.SecondLook - asked.Sub(n.missing)
	})
	return max(wait, 0), nil
}

// isGone is nil when the hub says that it has no such BundleDeployment, and keeps others.
func isGone(ctx context.Context, session *attached, name string) error {
	_, err := session.Deployment(ctx, session.Namespace, name)
	switch {
	case err == nil:
		return fmt.Errorf("BundleDeployment %s/%s is there, the watch is behind", session.Namespace, name)
	case !hub.IsGone(err, fleet.BundleDeploymentResourceName, name):
		return fmt.Errorf("whether BundleDeployment %s/%s is gone: %w", session.Namespace, name, err)
	}
	if err := session.Keeps(ctx, session.Namespace); err != nil {
		return fmt.Errorf("BundleDeployment %s/%s is missing, and what was deployed is kept: %w", session.Namespace, name, err)
	}
	return nil
}

// takeAway removes releases and copies. The agent does not remove itself, and what is to be kept is only forgotten, the
// copies with it: it may use them. Where some releases are to be kept and others are not, the deployer tells them apart.
func (r *Reconciler) takeAway(ctx context.Context, session *attached, name string, releases []helmdeployer.Deployed, log *logrus.Entry) error {
	keeps := func(d helmdeployer.Deployed) bool { return d.KeepResources }
	goes := func(d helmdeployer.Deployed) bool { return !d.KeepResources }
	agent := hasAgent(name, session, releases)
	if len(releases) > 0 {
		result, call, what := metrics.RemoveDone, r.Deployer.Uninstall, "Uninstalled"
		if agent || !slices.ContainsFunc(releases, goes) {
			result, call, what = metrics.RemoveForgotten, r.Deployer.Forget, "Forgotten, its resources stay"
		}
		err := r.guarded(ctx, name, r.Pace.Stuck, func(ctx context.Context) error { return call(ctx, name) })
		switch {
		case errors.Is(err, helmdeployer.ErrUnproven): // it may be anybody's, and its record anybody's work
			log.Warnf("Not all is removed: %v", err)
		case err != nil:
			return err
		default:
			r.Metrics.Removed(result)
			log.Info(what)
		}
	}
	if agent || slices.ContainsFunc(releases, keeps) {
		return nil
	}
	return r.dropCopies(ctx, session, name)
}
