package helmdeployer

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Config is what a Deployer needs.
type Config struct {
	// REST reaches the cluster that is deployed to, as the agent itself.
	REST *rest.Config
	// Namespace is the agent's, where the service accounts are that bundles are deployed by.
	Namespace string
	// Scope tells agents apart that serve one cluster; empty for the only one.
	Scope string
	// Now is the clock.
	Now func() time.Time
}

// Deployer deploys bundles.
type Deployer struct{ cfg Config }

// New makes a Deployer; nothing is sent yet.
func New(cfg Config) (*Deployer, error) { return &Deployer{cfg: cfg}, nil }

// Deploy installs or upgrades the release of a bundle.
func (d *Deployer) Deploy(ctx context.Context, job Job) (Release, error) {
	return Release{}, errors.New("deploying is not built yet")
}

// Load reads a release back.
func (d *Deployer) Load(ctx context.Context, releaseID string) (Release, error) {
	return Release{}, errors.New("loading is not built yet")
}

// Correct applies a release again.
func (d *Deployer) Correct(ctx context.Context, releaseID string, how v1alpha1.CorrectDrift) (Release, error) {
	return Release{}, errors.New("correcting is not built yet")
}

// List finds the releases of this agent.
func (d *Deployer) List(ctx context.Context) ([]Deployed, error) {
	return nil, errors.New("listing is not built yet")
}

// Uninstall removes the releases of a bundle.
func (d *Deployer) Uninstall(ctx context.Context, bundleID string) error {
	return errors.New("uninstalling is not built yet")
}

// Forget removes the records of a bundle's releases and leaves their objects.
func (d *Deployer) Forget(ctx context.Context, bundleID string) error {
	return errors.New("forgetting is not built yet")
}

// RenderInput is a bundle that is to be rendered without a cluster.
type RenderInput struct {
	Job
	// KubeVersion is the version that charts are rendered for; empty means Helm's default.
	KubeVersion string
	// APIVersions are served besides the built-in ones.
	APIVersions []string
	// Scope is the agent's.
	Scope string
}

// Render makes the objects of a bundle, hooks included, without a cluster.
func Render(ctx context.Context, in RenderInput) ([]*unstructured.Unstructured, error) {
	return nil, errors.New("rendering is not built yet")
}
