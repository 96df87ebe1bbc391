package helmdeployer

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/fetch"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/helmdeployer/render"
)

// operation is one deployment of one bundle.
type operation struct {
	d               *Deployer
	ctx             context.Context
	job             Job
	owner           Owner
	namespace, name string
	identity        *cluster.Identity
	client          *cluster.Client
	records         *history.Records
	config          *action.Configuration
	bundle          *render.Bundle
	values          map[string]any
	// others are releases of this bundle under other names, which go once this one is deployed.
	others []Deployed
	// last is the newest revision at the beginning, deployed the newest that was applied well; nil where there is none.
	last, deployed *release.Release
	// fresh are the objects that were not there before a first deployment; adopted says that others were. takesBack says that
	// what the others had is to be applied again.
	fresh              kube.ResourceList
	adopted, takesBack bool
}

// Deploy installs or upgrades the release of a bundle. A release that was interrupted, by whatever, is upgraded; nothing is
// uninstalled for that. An error together with a release says that the bundle was applied and its namespace could not be
// given its labels.
//
// Nothing is changed before the bundle is rendered and all of its kinds are known: what fails until then leaves the cluster
// as it was. It is rendered once.
func (d *Deployer) Deploy(ctx context.Context, job Job) (Release, error) {
	if err := job.check(); err != nil {
		return Release{}, err
	}
	owner := OwnerOf(job.Name, job.Options, job.Agent)
	op := &operation{d: d, ctx: ctx, job: job, owner: owner, namespace: owner.Namespace, name: owner.Name}
	end, err := d.turns.take(ctx, op.namespace, op.name)
	if err != nil {
		return Release{}, err
	}
	defer end()
	if err := op.prepare(); err != nil {
		return Release{}, err
	}
	deployed, err := op.run()
	if err != nil {
		end()
		return Release{}, op.takeBack(err)
	}
	result, err := d.read(deployed)
	if err != nil {
		return result, err
	}
	marked := op.markNamespace()
	end()
	var errs []error
	for _, other := range op.others {
		errs = append(errs, d.leave(ctx, job, other))
	}
	if err := errors.Join(errs...); err != nil {
		// Without a release in the answer the status names the old one, and the next attempt looks for it again.
		return Release{}, errors.Join(err, marked)
	}
	return result, marked
}

// prepare gathers what the operation needs.
func (op *operation) prepare() (err error) {
	op.identity, err = op.actor()
	if err != nil {
		return err
	}
	if op.values, err = values(op.ctx, op.identity.Kube, op.job.Options); err != nil {
		return err
	}
	if err := op.openBundle(); err != nil {
		return err
	}
	if err := op.openRecords(); err != nil {
		return err
	}
	if err := op.findOthers(); err != nil {
		return err
	}
	op.strayOthers()
	return nil
}

func (op *operation) actor() (*cluster.Identity, error) {
	if op.job.Agent && op.job.Options.ServiceAccount == "" {
		return op.d.self()
	}
	return op.d.identity(op.ctx, op.job.Options.ServiceAccount)
}

func (op *operation) openBundle() error {
	in := render.Input{
		Name: op.job.Name, ManifestID: op.job.ManifestID, Commit: op.job.Commit,
		Files: op.job.Files, Options: op.job.Options, Annotations: op.d.annotations(op.job),
	}
	if render.NeedsFetch(in.Files, in.Options) {
		helm := op.job.helm()
		ended := cluster.Waiting(op.ctx)
		fetched, err := fetch.Chart(op.ctx, fetch.Source{Repo: helm.Repo, Chart: helm.Chart, Version: helm.Version}, op.job.Chart)
		ended()
		if err != nil {
			return err
		}
		in.Fetched = fetched
	}
	var err error
	op.bundle, err = render.Prepare(in)
	return err
}

// openRecords reads the history, and makes Helm ready for the cluster.
func (op *operation) openRecords() (err error) {
	force := op.job.Options.TargetNamespace
	op.client = op.identity.NewClient(op.ctx, cluster.Release{Namespace: op.namespace, Name: op.name, Force: force}, debug)
	op.client.Recreate = op.job.helm().Force || (op.job.Options.CorrectDrift != nil && op.job.Options.CorrectDrift.Force)
	op.client.RecreateClasses = op.job.Agent
	op.client.Define(render.ChartCRDs(op.bundle.Chart))
	op.records, err = history.Open(op.ctx, op.identity.Kube.CoreV1().Secrets(op.namespace), op.name, op.d.cfg.Now)
	if err != nil {
		return err
	}
	op.records.BeforeCreate = op.makeWay
	op.d.keep(op.ctx, op.records, op.owner)
	capabilities, err := op.client.Capabilities(render.Mentions(op.bundle.Chart, "APIVersions"))
	if err != nil {
		return err
	}
	op.config = configure(op.identity, op.client, op.records)
	op.config.Capabilities = capabilities
	return op.look()
}

// keep has the records that are made for an owner sealed and remembered.
func (d *Deployer) keep(ctx context.Context, records *history.Records, owner Owner) {
	records.Seal = func(made *release.Release) string { return d.seals.seal(ctx, owner.Namespace, owner.Name, made) }
	records.Created = func(made *release.Release) { d.trusted.add(owner, made) }
}

func configure(identity *cluster.Identity, client *cluster.Client, records *history.Records) *action.Configuration {
	kept := storage.Init(records)
	kept.Log = debug
	return &action.Configuration{
		RESTClientGetter: identity.Getter(),
		Releases:         kept,
		KubeClient:       client,
		Log:              debug,
	}
}

// findOthers looks for releases of the bundle under another name or in another namespace. They are not looked for where the
// status says that this release was the last: what an interruption left is found by the collection of orphans. One of which
// only its record says that it is the bundle's is left alone; the agent's own are only forgotten.
func (op *operation) findOthers() error {
	id, err := history.ParseID(op.job.Release)
	if err == nil && id.Namespace == op.namespace && id.Name == op.name && op.last != nil {
		return nil
	}
	all, err := op.d.of(op.ctx, op.job.Name)
	if err != nil {
		return err
	}
	for _, release := range all {
		if release.Namespace == op.namespace && release.Name == op.name {
			continue
		}
		if release.Namespace == id.Namespace && release.Name == id.Name {
			op.d.trusted.name(release.Namespace, release.Name, op.job.Name) // the status says it
		}
		proven, err := op.d.Proven(op.ctx, release)
		if err != nil {
			return err
		}
		if proven || op.job.Agent {
			op.others = append(op.others, release)
		}
	}
	return nil
}

// leave removes a release that the bundle no longer has. What the new release took over stays: it is marked as its own.
func (d *Deployer) leave(ctx context.Context, job Job, other Deployed) error {
	if job.Agent || other.Agent {
		return d.forget(ctx, other)
	}
	if _, _, err := d.uninstall(ctx, other); err != nil {
		return fmt.Errorf("removing release %s/%s, which the bundle had before: %w", other.Namespace, other.Name, err)
	}
	return nil
}
