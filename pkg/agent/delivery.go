package agent

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/agent/bundledeployment"
	"github.com/rancher/fleet/pkg/agent/drift"
	"github.com/rancher/fleet/pkg/agent/gc"
	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/upgrade"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// delivery is what the leader does about bundles. It lives as long as the leader leads, and works while there is a
// session with the hub.
type delivery struct {
	reconciler *bundledeployment.Reconciler
	watches    *drift.Watches
	garbage    gc.Config
	// told has a message in it when there is something to say of the bundles that is not to wait.
	told chan struct{}
}

// startDelivery puts the parts together. Its watches run until the context ends; it calls nobody yet.
func startDelivery(ctx context.Context, cfg *rest.Config, client kubernetes.Interface, o Options, counted *metrics.Metrics, report *upgrade.Report) (*delivery, error) {
	deployer, err := helmdeployer.New(helmdeployer.Config{
		REST: cfg, Namespace: o.Namespace, Scope: o.Scope, Now: o.Clock.Now,
		Key: func(ctx context.Context) ([]byte, error) { return recordKey(ctx, client, o.Namespace) },
	})
	if err != nil {
		return nil, fmt.Errorf("bundles cannot be deployed: %w", err)
	}
	mapper, err := deployer.Mapper()
	if err != nil {
		return nil, fmt.Errorf("bundles cannot be deployed: %w", err)
	}
	cluster, err := drift.Connect(cfg, mapper)
	if err != nil {
		return nil, fmt.Errorf("bundles cannot be watched: %w", err)
	}
	d := &delivery{told: make(chan struct{}, 1)}
	d.watches = drift.Start(ctx, drift.Config{
		Cluster: cluster, Clock: o.Clock, Random: rand.Float64,
		Notify: func(bundle string) { d.reconciler.Drifted(bundle) },
	})
	woken := make(chan struct{}, 1)
	d.reconciler = bundledeployment.New(bundledeployment.Config{
		Deployer: deployer, Monitor: d.watches, Local: bundledeployment.NewLocal(cfg, client, o.Namespace),
		Workers: o.Workers, Clock: o.Clock, Metrics: counted,
		Wanted: report.Want, TakenBack: report.IsTakenBack,
		Synced: func() { wake(woken) },
		Told:   func() { wake(d.told) },
	})
	d.garbage = gc.Config{
		List: deployer.List, Unknown: d.reconciler.Unknown, Look: d.reconciler.Look, Wake: woken,
		Interval: func(ctx context.Context) time.Duration { return garbageInterval(ctx, client, o.Namespace) },
		Clock:    o.Clock, Random: rand.Float64,
	}
	return d, nil
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// recordKey is a secret that only the agent has, made from its own key; nil while it has none.
func recordKey(ctx context.Context, client kubernetes.Interface, namespace string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	secret, err := client.CoreV1().Secrets(namespace).Get(ctx, names.AgentIdentitySecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", namespace, names.AgentIdentitySecret, err)
	}
	private := secret.Data[registration.KeyPrivateKey]
	if len(private) == 0 {
		return nil, nil
	}
	return hkdf.Key(sha256.New, private, nil, "fleet/v1 release records", sha256.Size)
}

// run works until the context ends, and all that is under way with it.
func (d *delivery) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { d.reconciler.Run(ctx) })
	all.Go(func() { gc.Run(ctx, d.garbage) })
	all.Wait()
	d.watches.Wait()
}

// attach works with a session until the context ends.
func (d *delivery) attach(ctx context.Context, session hub.Session, refused func()) {
	d.reconciler.Attach(ctx, bundledeployment.Session{
		Hub: session.Client, Namespace: session.DeploymentNamespace, Workspace: session.Workspace, Cluster: session.Cluster, Refused: refused,
	})
}

// garbageInterval is the one in the agent's ConfigMap, zero where there is none that can be read.
func garbageInterval(ctx context.Context, client kubernetes.Interface, namespace string) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, askingTimeout)
	defer cancel()
	found, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, names.AgentConfigMap, metav1.GetOptions{})
	if err != nil {
		return 0
	}
	parsed, _, err := config.Parse(found.Data[names.ConfigKey], config.Default(""))
	if err != nil {
		return 0
	}
	return parsed.GarbageCollectionInterval.Duration
}
