package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	helmcluster "github.com/rancher/fleet/pkg/helmdeployer/cluster"
)

// deployer is Helm in memory: a release for each bundle, in namespace default.
type deployer struct {
	mu        sync.Mutex
	revisions map[string]int
	// fails are the errors of Deploy and Correct, hangs are bundles whose calls do not end before release.
	fails map[string]error
	hangs map[string]bool
	// waits are bundles whose calls say that they only wait until release.
	waits map[string]bool
	keeps map[string]bool
	// agents are bundles that have the agent itself.
	agents map[string]bool
	// origins are those of the last job for each bundle.
	origins map[string]string
	// objects are those of each release.
	objects map[string][]*unstructured.Unstructured
	until   chan struct{}
	once    sync.Once

	jobs        []helmdeployer.Job
	corrections []string
	// owners are who the corrections were for.
	owners []helmdeployer.Owner
	// foreign are bundles whose records somebody else wrote.
	foreign     map[string]bool
	uninstalled []string
	forgotten   []string
	loads       int
	// unproven are bundles of whose releases only their records say whose they are; unsaid is the error of asking for that.
	unproven map[string]bool
	unsaid   error
	// unrecorded are releases whose record is gone, asked is how often it was asked for.
	unrecorded map[string]bool
	asked      int
	// unreadable is what Load answers for releases whose record is damaged.
	unreadable error
	// missed are the IDs that Load was asked for and did not find.
	missed []string
	// applied runs at the end of each deployment and correction.
	applied func(name string)
}

func newDeployer() *deployer {
	return &deployer{
		revisions: map[string]int{}, fails: map[string]error{}, hangs: map[string]bool{}, waits: map[string]bool{}, keeps: map[string]bool{}, origins: map[string]string{},
		agents: map[string]bool{}, objects: map[string][]*unstructured.Unstructured{}, unrecorded: map[string]bool{}, unproven: map[string]bool{}, foreign: map[string]bool{}, applied: func(string) {}, until: make(chan struct{}),
	}
}

// release ends the calls that hang.
func (d *deployer) release() { d.once.Do(func() { close(d.until) }) }

func idOf(name string, revision int) string { return fmt.Sprintf("default/%s:%d", name, revision) }

func (d *deployer) Deploy(ctx context.Context, job helmdeployer.Job) (helmdeployer.Release, error) {
	d.mu.Lock()
	d.jobs = append(d.jobs, job)
	hangs, waits, err := d.hangs[job.Name], d.waits[job.Name], d.fails[job.Name]
	d.mu.Unlock()
	if waits {
		ended := helmcluster.Waiting(ctx)
		<-d.until
		ended()
	}
	if hangs {
		<-d.until
	}
	if forbidden := (*helmdeployer.NamespaceForbidden)(nil); errors.As(err, &forbidden) {
		return helmdeployer.Release{ID: idOf(job.Name, 1), Namespace: "default"}, err
	}
	if err != nil {
		return helmdeployer.Release{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revisions[job.Name]++
	d.origins[job.Name] = job.Origin
	d.applied(job.Name)
	return helmdeployer.Release{ID: idOf(job.Name, d.revisions[job.Name]), Namespace: "default", Objects: d.objects[job.Name]}, nil
}

func (d *deployer) Load(_ context.Context, id string, _ helmdeployer.Owner) (helmdeployer.Release, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loads++
	if d.unreadable != nil {
		return helmdeployer.Release{}, d.unreadable
	}
	for name, revision := range d.revisions {
		if id == idOf(name, revision) {
			return helmdeployer.Release{ID: id, Namespace: "default", Objects: d.objects[name]}, nil
		}
	}
	d.missed = append(d.missed, id)
	return helmdeployer.Release{}, fmt.Errorf("release %s: %w", id, helmdeployer.ErrNoRelease)
}

func (d *deployer) Recorded(_ context.Context, id string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return !d.unrecorded[id], nil
}

func (d *deployer) Correct(_ context.Context, id string, owner helmdeployer.Owner, _ fleet.CorrectDrift) (helmdeployer.Release, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.corrections = append(d.corrections, id)
	d.owners = append(d.owners, owner)
	for name, revision := range d.revisions {
		if id == idOf(name, revision) {
			if err := d.fails[name]; err != nil {
				return helmdeployer.Release{}, err
			}
			if d.foreign[name] {
				return helmdeployer.Release{}, helmdeployer.ErrForeign
			}
			d.revisions[name]++
			d.applied(name)
			return helmdeployer.Release{ID: idOf(name, revision+1), Namespace: "default"}, nil
		}
	}
	return helmdeployer.Release{}, helmdeployer.ErrNoRelease
}

func (d *deployer) List(context.Context) (out []helmdeployer.Deployed, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(d.revisions)) {
		out = append(out, helmdeployer.Deployed{BundleID: name, Namespace: "default", Name: name, Origin: d.origins[name], KeepResources: d.keeps[name], Agent: d.agents[name]})
	}
	return out, nil
}

// Proven says that what this deployer has deployed is proven, and nothing else.
func (d *deployer) Proven(_ context.Context, release helmdeployer.Deployed) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unsaid != nil {
		return false, d.unsaid
	}
	_, ok := d.revisions[release.BundleID]
	return ok && release.Namespace == "default" && release.Name == release.BundleID && !d.unproven[release.BundleID], nil
}

func (d *deployer) Uninstall(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails[name]; err != nil {
		return err
	}
	d.uninstalled = append(d.uninstalled, name)
	delete(d.revisions, name)
	return nil
}

func (d *deployer) Forget(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgotten = append(d.forgotten, name)
	delete(d.revisions, name)
	return nil
}

// with runs do with the lock held.
func (d *deployer) with(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

func (d *deployer) jobsOf(name string) (out []helmdeployer.Job) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, job := range d.jobs {
		if job.Name == name {
			out = append(out, job)
		}
	}
	return out
}

func (d *deployer) corrected() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.corrections)
}

// gone are the bundles that were uninstalled or forgotten.
func (d *deployer) gone() (uninstalled, forgotten []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.uninstalled), slices.Clone(d.forgotten)
}

// monitor finds everything ready and unmodified, unless it is told otherwise.
type monitor struct {
	drifted func(name string)

	mu        sync.Mutex
	finds     map[string]drift.Result
	fails     map[string]error
	looks     map[string]int
	forgotten map[string]bool
}

func newMonitor() *monitor {
	return &monitor{finds: map[string]drift.Result{}, fails: map[string]error{}, looks: map[string]int{}, forgotten: map[string]bool{}}
}

func (m *monitor) Status(_ context.Context, name string, _ drift.Wanted) (drift.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks[name]++
	delete(m.forgotten, name)
	if err := m.fails[name]; err != nil {
		return drift.Result{}, err
	}
	found, known := m.finds[name]
	if !known {
		found = drift.Result{Ready: true, NonModified: true}
	}
	return found, nil
}

func (m *monitor) Forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[name] = true
}

// quietly changes what is found from now on, and tells nobody.
func (m *monitor) quietly(name string, result drift.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finds[name] = result
}

// find changes what is found from now on, and tells.
func (m *monitor) find(name string, result drift.Result) {
	m.mu.Lock()
	m.finds[name] = result
	m.mu.Unlock()
	m.drifted(name)
}

func (m *monitor) fail(name string, err error) {
	m.mu.Lock()
	m.fails[name] = err
	m.mu.Unlock()
	m.drifted(name)
}

func (m *monitor) looked(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks[name]
}

func (m *monitor) isForgotten(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.forgotten[name]
}

// modified is a ConfigMap that somebody changed.
func modified() drift.Result {
	return drift.Result{Ready: true, ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", APIVersion: "v1", Namespace: "default", Name: "x", Patch: "{}"}}}
}
