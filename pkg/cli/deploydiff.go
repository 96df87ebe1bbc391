package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/rancher/fleet/pkg/explain/delivery"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/names"
)

// releaseReader reads what a cluster has of a bundle's release.
type releaseReader struct {
	ctx      context.Context
	deployer *helmdeployer.Deployer
	metadata metadata.Interface
	cluster  *cluster.Cluster
	// failed are errors of single looks.
	failed []error
}

func newReleaseReader(ctx context.Context, cfg *rest.Config, namespace string) (*releaseReader, error) {
	r := &releaseReader{ctx: ctx}
	var err error
	if r.deployer, err = helmdeployer.New(helmdeployer.Config{REST: cfg, Namespace: namespace}); err != nil {
		return nil, err
	}
	if r.cluster, err = cluster.Connect(cfg, time.Now); err != nil {
		return nil, err
	}
	if r.metadata, err = metadata.NewForConfig(cfg); err != nil {
		return nil, fmt.Errorf("clients: %w", err)
	}
	return r, nil
}

// diffRelease tells what a deployment would do to the cluster.
func diffRelease(c *cli.Context, cfg *rest.Config, job helmdeployer.Job) error {
	r, err := newReleaseReader(c.Context, cfg, agentNamespace(c))
	if err != nil {
		return err
	}
	served, version, err := r.served()
	if err != nil {
		return err
	}
	after, err := helmdeployer.Render(c.Context, helmdeployer.RenderInput{
		Job: job, AgentNamespace: agentNamespace(c), KubeVersion: version, APIVersions: served, Kinds: r.cluster,
	})
	if err != nil {
		return err
	}
	before, found, err := r.released(job)
	if err != nil {
		return err
	}
	if err := checkOwner(c.Context, cfg, job, agentNamespace(c)); err != nil {
		note(c, "The deployment would be refused: %v", err)
	}
	noteLeftOut(c, job)
	if !found {
		note(c, "There is no release %s in namespace %s yet.", helmdeployer.ReleaseName(job.Name, job.Options), helmdeployer.Namespace(job.Options))
	}
	if len(after) == 0 && len(before) > 0 {
		note(c, "The bundle renders to nothing: a deployment of it is refused, and nothing is removed.")
	}
	changes, err := forEyes(delivery.ReleaseChanges(before, after, r.exists))
	if err != nil {
		return err
	}
	if err := errors.Join(r.failed...); err != nil {
		return err
	}
	return present(c, newItems(changes), func(out io.Writer) error { return printObjectChanges(out, changes) })
}

// served is what the cluster serves, as charts ask for it, and its version.
func (r *releaseReader) served() (versions []string, version string, err error) {
	info, err := r.cluster.Discovery().ServerVersion()
	if err != nil {
		return nil, "", fmt.Errorf("asking the cluster for its version: %w", err)
	}
	_, lists, err := r.cluster.Discovery().ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, "", fmt.Errorf("asking the cluster what it serves: %w", err)
	}
	for _, list := range lists {
		versions = append(versions, list.GroupVersion)
		for _, served := range list.APIResources {
			versions = append(versions, list.GroupVersion+"/"+served.Kind)
		}
	}
	return versions, info.GitVersion, nil
}

func isReleaseOf(job helmdeployer.Job, entry history.Entry) bool {
	return entry.Namespace == helmdeployer.Namespace(job.Options) && entry.Name == helmdeployer.ReleaseName(job.Name, job.Options)
}

// agentMark is the annotation of a release that names the namespace of the agent whose it is.
const agentMark = names.Prefix + "agent-namespace"

// checkOwner refuses to take a release away from an agent: that one would not know it any more, and leave it behind when
// its BundleDeployment goes.
func checkOwner(ctx context.Context, cfg *rest.Config, job helmdeployer.Job, owner string) error {
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("clients: %w", err)
	}
	all, err := history.Newest(ctx, client)
	if err != nil {
		return err
	}
	for _, entry := range all {
		if !isReleaseOf(job, entry) {
			continue
		}
		marks, err := history.ChartAnnotations(ctx, clients.CoreV1(), entry.ID)
		if err != nil {
			return err
		}
		if has := marks[agentMark]; has != "" && has != owner && has != nobodysNamespace {
			return fmt.Errorf("release %s/%s belongs to the agent in namespace %.64q: add -a with that namespace to deploy it as that agent, which goes on with what the hub says at the next change",
				entry.Namespace, entry.Name, has)
		}
	}
	return nil
}

// released are the objects of the bundle's release as it was deployed last, and of those that the bundle had under other
// names, which go with the next deployment.
func (r *releaseReader) released(job helmdeployer.Job) (objects []*unstructured.Unstructured, found bool, err error) {
	all, err := history.Newest(r.ctx, r.metadata)
	if err != nil {
		return nil, false, err
	}
	own, err := r.deployer.List(r.ctx)
	if err != nil {
		return nil, false, err
	}
	others := map[string]bool{}
	for _, release := range own {
		if release.BundleID == job.Name && !release.KeepResources {
			others[release.Namespace+"/"+release.Name] = true
		}
	}
	for _, entry := range all {
		this := isReleaseOf(job, entry)
		if !this && !others[entry.Namespace+"/"+entry.Name] {
			continue
		}
		release, err := r.deployer.Load(r.ctx, entry.ID.String(), helmdeployer.OwnerOf(job.Name, job.Options, job.Agent))
		if err != nil {
			return nil, false, fmt.Errorf("reading release %s: %w", entry.ID, err)
		}
		objects, found = append(objects, release.Objects...), found || this
	}
	return objects, found, nil
}

// exists asks the cluster for an object that no release has. A kind that is not served yet has none.
func (r *releaseReader) exists(obj *unstructured.Unstructured) bool {
	kind := obj.GroupVersionKind()
	groups, err := restmapper.GetAPIGroupResources(r.cluster.Discovery())
	if err != nil {
		r.failed = append(r.failed, fmt.Errorf("asking the cluster what it serves: %w", err))
		return false
	}
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false
	}
	if err == nil {
		_, err = r.metadata.Resource(mapping.Resource).Namespace(obj.GetNamespace()).Get(r.ctx, obj.GetName(), metav1.GetOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		r.failed = append(r.failed, fmt.Errorf("looking for %s: %w", objectText(obj), err))
	}
	return err == nil
}
