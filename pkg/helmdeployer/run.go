package helmdeployer

import (
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
	"github.com/rancher/fleet/pkg/names"
)

// revisions is how many revisions of a release are kept.
const revisions = 2

// run installs or upgrades. Helm's actions take no context that could be trusted to end them; the client ends their waits.
func (op *operation) run() (*release.Release, error) {
	op.config.Releases.MaxHistory = op.maxHistory()
	var done *release.Release
	var err error
	if op.isInstall() {
		done, err = op.install()
	} else {
		done, err = op.upgrade()
	}
	if lost := op.records.Lost(); lost != nil {
		return nil, fmt.Errorf("release %s/%s: %w", op.namespace, op.name, lost)
	}
	if err != nil {
		return nil, op.undo(fmt.Errorf("release %s/%s: %w", op.namespace, op.name, err))
	}
	return done, op.confirm(done)
}

// confirm makes sure that the record says how it went: Helm passes over it when the last write of an install fails.
func (op *operation) confirm(done *release.Release) error {
	if op.records.Stored(history.Key(done.Name, done.Version)) == done.Info.Status {
		return nil
	}
	if err := op.config.Releases.Update(done); err != nil {
		return fmt.Errorf("release %s/%s was deployed, and its record could not be written: %w", op.namespace, op.name, err)
	}
	return nil
}

func (op *operation) install() (*release.Release, error) {
	helm := op.job.helm()
	install := action.NewInstall(op.config)
	install.ReleaseName, install.Namespace = op.name, op.namespace
	// A record of a release that was uninstalled by hand is in nobody's way.
	install.Replace = true
	install.TakeOwnership = helm.TakeOwnership || op.job.Agent || len(op.others) > 0
	install.Wait, install.WaitForJobs, install.Timeout = op.waits(), helm.WaitForJobs, op.timeout()
	install.EnableDNS, install.SkipSchemaValidation = !helm.DisableDNS, helm.SkipSchemaValidation
	// Ours are made by makeWay, also where a release is upgraded.
	install.SkipCRDs = true
	install.PostRenderer = op.finish()
	return install.RunWithContext(context.Background(), op.bundle.Chart, op.values)
}

func (op *operation) upgrade() (*release.Release, error) {
	helm := op.job.helm()
	upgrade := action.NewUpgrade(op.config)
	upgrade.Namespace, upgrade.MaxHistory = op.namespace, op.maxHistory()
	upgrade.ResetValues, upgrade.TakeOwnership = true, true
	upgrade.Wait, upgrade.WaitForJobs, upgrade.Timeout = op.waits(), helm.WaitForJobs, op.timeout()
	upgrade.EnableDNS, upgrade.SkipSchemaValidation = !helm.DisableDNS, helm.SkipSchemaValidation
	upgrade.PostRenderer = op.finish()
	return upgrade.RunWithContext(context.Background(), op.name, op.bundle.Chart, op.values)
}

func (op *operation) finish() *render.Finish {
	return &render.Finish{
		Bundle: op.bundle, SetID: op.setID(),
		Namespace: op.namespace, Force: op.job.Options.TargetNamespace != "",
		DeleteCRDs: op.job.Options.DeleteCRDResources, Scopes: op.d.cluster, Accept: op.accept,
	}
}

// setID is the apply set that the objects are marked with.
func (op *operation) setID() string {
	if op.job.Agent {
		return names.AgentSet(op.d.cfg.Scope)
	}
	return names.BundleSet(op.job.Name, op.d.cfg.Scope)
}

// accept has the last word before anything is changed.
func (op *operation) accept(objects []*unstructured.Unstructured) error {
	if len(objects) == 0 && !op.isInstall() {
		had, err := render.Decode([]byte(op.base().Manifest))
		if err != nil || len(had) > 0 {
			return &EmptyError{Had: len(had)}
		}
	}
	if op.isInstall() && len(op.others) > 0 && !op.job.helm().TakeOwnership && !op.job.Agent {
		if err := op.checkOwners(objects); err != nil {
			return err
		}
	}
	if op.isUndone() && op.deployed == nil {
		return op.findFresh(objects)
	}
	return nil
}

// waits says whether it is waited until objects are ready. The agent does not wait for its own successor, which ends it.
func (op *operation) waits() bool {
	helm := op.job.helm()
	return !op.job.Agent && (helm.TimeoutSeconds > 0 || helm.Atomic)
}

func (op *operation) timeout() time.Duration {
	if seconds := op.job.helm().TimeoutSeconds; seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return cluster.HookTimeout
}

func (op *operation) maxHistory() int {
	if kept := op.job.helm().MaxHistory; kept > 0 {
		return kept
	}
	return revisions
}
