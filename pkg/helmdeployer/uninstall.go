package helmdeployer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"
	"helm.sh/helm/v3/pkg/action"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/names"
)

// Uninstall removes the releases of a bundle and their objects. The caller has made sure that the bundle is gone. Of those
// that have the agent itself, and of those whose objects are to be kept, only the records are removed. ErrUnproven says that all
// went but what cannot be told from somebody else's.
func (d *Deployer) Uninstall(ctx context.Context, bundleID string) error {
	found, err := d.of(ctx, bundleID)
	if err != nil {
		return err
	}
	var errs []error
	var unproven error
	for _, release := range found {
		if release.KeepResources || release.Agent {
			errs = append(errs, d.forget(ctx, release))
			continue
		}
		identity, notes, err := d.uninstall(ctx, release)
		switch {
		case errors.Is(err, ErrUnproven):
			unproven, err = errors.Join(unproven, err), nil
		case err != nil:
		case notes[deleteNamespaceAnnotation] == "true":
			err = d.deleteNamespace(ctx, identity, release)
		case release.DeleteNamespace:
			logrus.WithField("release", release.Namespace+"/"+release.Name).
				Warn("The namespace of this release is not removed: only its record says that it is ours")
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return unproven
}

// UninstallRelease removes one release, as List has it, and its objects: one that its bundle has no more. What is no release
// of this agent is not touched.
func (d *Deployer) UninstallRelease(ctx context.Context, release Deployed) error {
	found, err := d.of(ctx, release.BundleID)
	if err != nil {
		return err
	}
	for _, known := range found {
		if known.Namespace == release.Namespace && known.Name == release.Name {
			if known.Agent {
				return d.forget(ctx, known)
			}
			_, _, err := d.uninstall(ctx, known)
			return err
		}
	}
	return nil
}

// Forget removes the records of a bundle's releases and leaves their objects.
func (d *Deployer) Forget(ctx context.Context, bundleID string) error {
	found, err := d.of(ctx, bundleID)
	if err != nil {
		return err
	}
	var errs []error
	for _, release := range found {
		errs = append(errs, d.forget(ctx, release))
	}
	return errors.Join(errs...)
}

func (d *Deployer) forget(ctx context.Context, release Deployed) error {
	end, err := d.turns.take(ctx, release.Namespace, release.Name)
	if err != nil {
		return err
	}
	defer end()
	self, err := d.self()
	if err != nil {
		return err
	}
	defer d.dropLoaded(release)
	if err := history.Forget(ctx, self.Metadata, release.Namespace, release.Name); err != nil {
		return err
	}
	d.trusted.drop(release.Namespace, release.Name)
	return nil
}

// dropLoaded forgets what was read: the revisions of a release of this name begin anew.
func (d *Deployer) dropLoaded(release Deployed) {
	d.loaded.drop(func(key string) bool {
		id, err := history.ParseID(key)
		return err == nil && id.Namespace == release.Namespace && id.Name == release.Name
	})
}

// uninstall removes a release on behalf of whom it was deployed by. What another release has taken over stays, and so does
// what the release has not marked. It returns on whose behalf that was. Hooks are run, and the notes of the record returned, only
// where the agent wrote the record; on whose behalf it was deployed it knows then, too. Where only the record says whose the release is, that is ErrUnproven.
func (d *Deployer) uninstall(ctx context.Context, release Deployed) (identity *cluster.Identity, notes map[string]string, err error) {
	end, err := d.turns.take(ctx, release.Namespace, release.Name)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	if proven, err := d.Proven(ctx, release); err != nil {
		return nil, nil, err
	} else if !proven { // before all of its records are read, which may be many and large
		return nil, nil, unproven(release)
	}
	owner, revision := d.trusted.newest(release.Namespace, release.Name)
	if revision == 0 {
		owner = Owner{ServiceAccount: release.ServiceAccount}
	}
	identity, err = d.onBehalf(ctx, owner)
	if err != nil {
		return nil, nil, err
	}
	records, err := history.Open(ctx, identity.Kube.CoreV1().Secrets(release.Namespace), release.Name, d.cfg.Now)
	if err != nil {
		return nil, nil, err
	}
	notes, known := d.lastNotes(ctx, records, release, revision)
	if !known && d.isStrict() && !d.trusted.isNamed(release) && records.Newest() != nil {
		return nil, nil, unproven(release)
	}
	client := identity.NewClient(ctx, cluster.Release{Namespace: release.Namespace, Name: release.Name}, debug)
	uninstall := action.NewUninstall(configure(identity, client, records))
	uninstall.IgnoreNotFound, uninstall.Timeout = true, cluster.HookTimeout
	uninstall.DeletionPropagation = "background"
	if uninstall.DisableHooks = !known; uninstall.DisableHooks {
		logrus.WithField("release", release.Namespace+"/"+release.Name).Warn("Hooks of this release are not run: only its record says that it is ours")
	}
	defer d.dropLoaded(release)
	if _, err := uninstall.Run(release.Name); err != nil {
		return nil, nil, fmt.Errorf("uninstalling release %s/%s: %w", release.Namespace, release.Name, errors.Join(err, client.Trouble()))
	}
	d.trusted.drop(release.Namespace, release.Name)
	return identity, notes, nil
}

func unproven(release Deployed) error {
	return fmt.Errorf("release %s/%s, which calls itself bundle %.120q, stays: %w: is it not wanted any more, remove it with helm uninstall",
		release.Namespace, release.Name, release.BundleID, ErrUnproven)
}

// lastNotes are the notes of the newest record of a release, if the agent wrote it: since its start, where known is the
// newest revision that it knows, or before that.
func (d *Deployer) lastNotes(ctx context.Context, records *history.Records, of Deployed, known int) (notes map[string]string, ok bool) {
	found := records.Newest()
	if found == nil {
		return nil, false
	}
	_, same := d.trusted.knows(of.Namespace, of.Name, found)
	if found.Version == known && same || known < found.Version && d.isSealedFor(ctx, of, found) {
		return notesOf(found), true
	}
	return nil, false
}

// protected are namespaces that no bundle takes with it.
var protected = []string{
	"default", "kube-system", "kube-public", "kube-node-lease", names.DefaultLocalWorkspace, names.DefaultWorkspace,
	names.DefaultSystemNamespace, names.RegistrationNamespace(names.DefaultSystemNamespace), names.AgentsNamespace(names.DefaultSystemNamespace),
}

// deleteNamespace removes the namespace of a release on behalf of whom that was deployed by, unless it is protected, the
// agent's, or another release's too. Whether it is another's, whose records that one may not list, the agent itself looks up.
func (d *Deployer) deleteNamespace(ctx context.Context, identity *cluster.Identity, release Deployed) error {
	namespace := release.Namespace
	if namespace == d.cfg.Namespace || slices.Contains(protected, namespace) {
		return nil
	}
	self, err := d.self()
	if err != nil {
		return err
	}
	left, err := history.Newest(ctx, self.Metadata)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(e history.Entry) bool { return e.Namespace == namespace }) {
		return nil
	}
	err = identity.Kube.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	switch {
	case apierrors.IsForbidden(err): // it would be the next time as well
		logrus.WithField("release", release.Namespace+"/"+release.Name).
			Warnf("The namespace of this release is not removed, its account may not do that: %v", err)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("removing namespace %s: %w", namespace, err)
	}
	return nil
}
