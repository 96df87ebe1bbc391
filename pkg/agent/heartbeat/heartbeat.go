package heartbeat

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

// headStart is how long the first beat waits for the first report at most.
const headStart = 500 * time.Millisecond

// Options say who beats and how often.
type Options struct {
	// Interval is that of the Lease, CheckinInterval that of status.agent; zero means the default.
	Interval, CheckinInterval time.Duration
	// Instance names this process in the Lease, Namespace is the agent's own.
	Instance, Namespace, Version, Generation string

	// Upgrade is what is to be said of a new pod of the agent; nil says nothing. UpgradeChanged has it said at once.
	Upgrade        func() *fleet.AgentUpgradeStatus
	UpgradeChanged <-chan struct{}
	// Bundles is what is to be said of the bundles on the cluster, nil says nothing. BundlesChanged has it said at once.
	Bundles        func(ctx context.Context) *fleet.AgentBundles
	BundlesChanged <-chan struct{}

	Clock  clock.Clock
	Random pace.Random
	// Metrics are nil where nothing is counted.
	Metrics *metrics.Metrics
}

// Listener hears what the heartbeat learns of the credential. Its functions must not block.
type Listener struct {
	// Refused is called when the hub answers 401.
	Refused func()
	// Renewed is called with a token that the hub made to follow the one in use, at each beat until the session ends.
	Renewed func(token string)
	// Failing is called with each beat that fails after some have failed before, Beating with the first that goes through
	// again.
	Failing func(err error)
	Beating func()
}

// Run beats until the context ends.
func Run(ctx context.Context, session hub.Session, o Options, listener Listener) {
	if o.Interval <= 0 {
		o.Interval = config.DefaultHeartbeatInterval
	}
	if o.CheckinInterval <= 0 {
		o.CheckinInterval = config.DefaultCheckinInterval
	}
	log := logrus.WithFields(logrus.Fields{"cluster": session.Workspace + "/" + session.Cluster})
	beat := &beat{
		session: session, options: o, listener: listener,
		trouble: newTrouble("Heartbeat", log, o),
		renewal: newTrouble("Look for a renewed credential", log, o),
	}
	report := &report{
		session: session, options: o, listener: listener, settled: make(chan struct{}),
		leaving: pace.Backoff{First: leavingFirst, Max: leavingMost, Random: o.Random},
		trouble: newTrouble("Report of the agent's status", log, o),
	}
	var both sync.WaitGroup
	both.Go(func() {
		awaitReport(ctx, o.Clock, report.settled)
		pace.Repeat(ctx, o.Clock, beat.once)
	})
	both.Go(func() { pace.RepeatOn(ctx, o.Clock, o.UpgradeChanged, o.BundlesChanged, report.once) })
	both.Wait()
}

// awaitReport gives the first report a head start. A beat makes the hub write into the same status: were both on their
// way at once, one would be a conflict, and a third request.
func awaitReport(ctx context.Context, clk clock.Clock, settled <-chan struct{}) {
	timer := clk.NewTimer(headStart)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-settled:
	case <-timer.C():
	}
}
