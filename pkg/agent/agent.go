package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/heartbeat"
	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/ready"
	"github.com/rancher/fleet/pkg/agent/register"
	"github.com/rancher/fleet/pkg/agent/upgrade"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// Run is the agent. It returns nil when ctx ends, with the lease given up; an error wraps kube.ErrLeadershipLost when
// another process may lead, so that this one must end.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	saveMemory(os.Getenv)
	userAgent := "fleet-agent/" + o.Version
	cfg, err := kube.RESTConfig(o.Kubeconfig, o.Context, userAgent)
	if err != nil {
		return fmt.Errorf("the agent's own cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("the agent's own cluster: %w", err)
	}

	process, err := processFigures()
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}

	ctx, cancel := context.WithCancel(ctx)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serve(ctx, &serving, o, process.registry)
	if o.ReadyDir != "" {
		serving.Go(func() { awaitReady(ctx, client, o, userAgent) })
	}

	instance := kube.Identity(o.PodName)
	logrus.WithFields(logrus.Fields{"namespace": o.Namespace, "version": o.Version, "instance": instance}).Info("Agent starts")
	if awaitNamespace(ctx, client, o) != nil {
		return nil
	}
	lead := func(ctx context.Context) error { return work(ctx, cfg, client, o, userAgent, instance, process.agent) }
	if !o.LeaderElect {
		return lead(ctx)
	}
	election := o.Election
	election.Namespace, election.Name, election.Identity = o.Namespace, names.AgentElectionLease, instance
	return kube.Lead(ctx, client, election, lead)
}

// figures are those of a process.
type figures struct {
	registry *prometheus.Registry
	agent    *metrics.Metrics
}

// processFigures are there once: lasso's can be registered only once.
var processFigures = sync.OnceValues(func() (figures, error) {
	registry := kube.NewRegistry()
	agent, err := metrics.New(registry)
	return figures{registry: registry, agent: agent}, err
})

func serve(ctx context.Context, serving *sync.WaitGroup, o Options, registry *prometheus.Registry) {
	endpoints := kube.Endpoints{
		MetricsAddress: o.MetricsAddr, Metrics: kube.MetricsHandler(registry),
		HealthAddress: o.HealthAddr, Health: kube.HealthHandler(nil, nil),
	}
	serving.Go(func() { endpoints.Serve(ctx) })
}

// awaitReady has this pod take over as soon as it may, whether it leads or not.
func awaitReady(ctx context.Context, client kubernetes.Interface, o Options, userAgent string) {
	ready.Await(ctx, ready.Config{
		Latch: ready.At(o.ReadyDir), Clock: o.Clock, Random: rand.Float64,
		Ask: func(ctx context.Context) (register.CredentialState, error) {
			return register.Examine(ctx, register.Config{Client: client, Namespace: o.Namespace, UserAgent: userAgent, Pace: o.Pace, Clock: o.Clock})
		},
	})
}

// work is what the leader does.
func work(ctx context.Context, cfg *rest.Config, client kubernetes.Interface, o Options, userAgent, instance string, counted *metrics.Metrics) error {
	recorder := newRecorder(ctx, client, o.Namespace)
	defer recorder.stop()
	ctx, cancel := context.WithCancel(ctx)
	report := upgrade.NewReport()
	bundles, err := startDelivery(ctx, cfg, client, o, counted, report)
	if err != nil {
		cancel()
		return err
	}
	var delivering sync.WaitGroup
	defer delivering.Wait()
	defer cancel()
	delivering.Go(func() { bundles.run(ctx) })
	delivering.Go(func() {
		upgrade.Run(ctx, upgrade.Config{Client: client, Namespace: o.Namespace, Pod: o.PodName, Report: report, Clock: o.Clock})
	})
	supervisor := register.NewSupervisor(register.Config{
		Client:    client,
		Namespace: o.Namespace,
		Hostname:  o.Hostname,
		Version:   o.Version,
		UserAgent: userAgent,
		Recorder:  recorder,
		About:     recorder.about,
		Pace:      o.Pace,
		Clock:     o.Clock,
		Metrics:   counted,
		Work: func(ctx context.Context, session hub.Session, events register.Events) {
			var both sync.WaitGroup
			both.Go(func() {
				heartbeat.Run(ctx, session, beats(o, instance, counted, report, bundles), heartbeat.Listener(events))
			})
			both.Go(func() { bundles.attach(ctx, session, events.Refused) })
			both.Wait()
		},
	})
	return supervisor.Run(ctx)
}

// beats is how the agent tells that it lives.
func beats(o Options, instance string, counted *metrics.Metrics, report *upgrade.Report, bundles *delivery) heartbeat.Options {
	return heartbeat.Options{
		Interval:        o.HeartbeatInterval,
		CheckinInterval: o.CheckinInterval,
		Instance:        instance,
		Namespace:       o.Namespace,
		Version:         o.Version,
		Generation:      o.Generation,
		Upgrade:         report.Status,
		UpgradeChanged:  report.Changed(),
		Bundles:         bundles.reconciler.Bundles,
		BundlesChanged:  bundles.told,
		Clock:           o.Clock,
		Random:          rand.Float64,
		Metrics:         counted,
	}
}
