package helmdeployer

import (
	"context"
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/helmdeployer/cluster"
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
	// Key is a secret of the agent, by which it knows the records again that it wrote; nil where there is none yet. Without the
	// function, as for a person at a terminal, records are believed as far as they agree with what is asked for.
	Key func(ctx context.Context) ([]byte, error)
}

// Deployer deploys bundles. Its methods may be called at the same time: those for one release take turns. Between agents
// the state of a release is the lock.
type Deployer struct {
	cfg     Config
	cluster *cluster.Cluster
	turns   turns
	loaded  *loaded
	known   known
	trusted trusted
	seals   seals
}

// New makes a Deployer; nothing is sent yet.
func New(cfg Config) (*Deployer, error) {
	if cfg.REST == nil || cfg.Namespace == "" {
		return nil, errors.New("the Helm deployer needs a REST config and the agent's namespace")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	connected, err := cluster.Connect(cfg.REST, cfg.Now)
	if err != nil {
		return nil, err
	}
	return &Deployer{cfg: cfg, cluster: connected, loaded: newLoaded(maxLoaded), seals: seals{ask: cfg.Key}}, nil
}

// self are the connections of the agent itself.
func (d *Deployer) self() (*cluster.Identity, error) { return d.cluster.As("") }

// OnWait makes a context whose operations tell when they begin to do nothing but wait: for objects, for hooks, for a
// repository, or for another operation on the release. What began returns is called when the wait is over. Neither may block.
func OnWait(ctx context.Context, began func() (ended func())) context.Context {
	return cluster.OnWait(ctx, began)
}

// debug is where Helm tells what it does.
func debug(format string, args ...any) { logrus.Debugf("helm: "+format, args...) }
