package bundledeployment

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/fleet/pkg/agent/drift"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/agent/pace"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// Config is what a Reconciler works with.
type Config struct {
	Deployer Deployer
	Monitor  Monitor
	Local    Local
	// Workers is how many BundleDeployments are handled at once, besides those whose call of the deployer only waits.
	Workers int
	// Synced is called when all BundleDeployments of a session are known, and again after each interruption. It must not
	// block.
	Synced func()
	// Told is called when Bundles has something to say that is not to wait. It must not block. Nil where nobody asks.
	Told func()
	// Wanted is told of the objects of the agent's own bundle whenever it is looked at. Nil where nobody asks.
	Wanted func(objects []*unstructured.Unstructured)
	// TakenBack says that the agent which these objects of its bundle bring was taken back, since its pod could not take over:
	// to put the bundle right would bring it again. A new version of the bundle is deployed all the same. Nil never says so.
	TakenBack func(objects []*unstructured.Unstructured) bool

	Clock  clock.WithTicker
	Random pace.Random
	// Metrics are nil where nothing is counted.
	Metrics *metrics.Metrics
	// Pace is for tests; its zero value is what production uses.
	Pace Pace
}

// Deployer is what is asked of helmdeployer.Deployer.
type Deployer interface {
	Deploy(ctx context.Context, job helmdeployer.Job) (helmdeployer.Release, error)
	Load(ctx context.Context, releaseID string, owner helmdeployer.Owner) (helmdeployer.Release, error)
	Recorded(ctx context.Context, releaseID string) (bool, error)
	Correct(ctx context.Context, releaseID string, owner helmdeployer.Owner, how fleet.CorrectDrift) (helmdeployer.Release, error)
	List(ctx context.Context) ([]helmdeployer.Deployed, error)
	Proven(ctx context.Context, release helmdeployer.Deployed) (bool, error)
	Uninstall(ctx context.Context, bundleID string) error
	Forget(ctx context.Context, bundleID string) error
}

// Monitor compares what was deployed with what is there, and watches it from then on: Reconciler.Drifted is to be called
// when the comparison may come to something else.
type Monitor interface {
	Status(ctx context.Context, name string, wanted drift.Wanted) (drift.Result, error)
	Forget(name string)
}

// Local is the agent's own cluster.
type Local interface {
	// Namespace is read live.
	Namespace(ctx context.Context, name string) (*corev1.Namespace, error)
	// As acts on behalf of a service account in the agent's namespace: of the one that is named, else of the default one
	// if that is there, else as the agent itself.
	As(ctx context.Context, serviceAccount string) (kubernetes.Interface, error)
	// Agent acts as the agent itself.
	Agent() kubernetes.Interface
}

// Hub is what is asked of the hub, with one credential.
type Hub interface {
	ListDeployments(ctx context.Context, namespace string, o metav1.ListOptions) (*fleet.BundleDeploymentList, error)
	WatchDeployments(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error)
	Deployment(ctx context.Context, namespace, name string) (*fleet.BundleDeployment, error)
	PatchDeploymentStatus(ctx context.Context, namespace, name string, patch []byte) (*fleet.BundleDeployment, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Content(ctx context.Context, name string) (*fleet.Content, error)
	Keeps(ctx context.Context, namespace string) error
	Origin(ctx context.Context, namespace string) (string, error)
}

// Session is a credential in use.
type Session struct {
	Hub
	// Namespace is the cluster's on the hub, Workspace and Cluster name its Cluster.
	Namespace, Workspace, Cluster string
	// Refused says that the hub has answered 401. It does not block.
	Refused func()
}

// Pace is how long things take.
type Pace struct {
	// RetryFirst and RetryMax bound the pause after a failure, which doubles.
	RetryFirst, RetryMax time.Duration
	// AmendFirst and AmendMax bound the pause between two times that one release is put right. It doubles, and is the
	// first again when the release has been as it should for AmendQuiet.
	AmendFirst, AmendMax, AmendQuiet time.Duration
	// Unwatched is when to look again at what no watch tells of, Forbidden after a namespace that could not be changed.
	Unwatched, Forbidden time.Duration
	// SecondLook is the time between two answers of the hub that a BundleDeployment is gone, of which both are needed.
	SecondLook time.Duration
	// Patience is how long a call of the deployer may wait until another worker takes its place.
	Patience time.Duration
	// Spread is the time over which all are looked at after an interruption.
	Spread time.Duration
	// Stuck ends a call of the deployer, beyond what the bundle itself asks for. Drain is how long such a call may still
	// run when the agent is to end, and Abandon how long it is waited for after it was told to end.
	Stuck, Drain, Abandon time.Duration
	// Report ends a write of a status, also where the agent is to end.
	Report time.Duration
}

// withDefaults fills in what is not given.
func (p Pace) withDefaults() Pace {
	for value, standard := range map[*time.Duration]time.Duration{
		&p.RetryFirst: 100 * time.Millisecond, &p.RetryMax: 5 * time.Minute,
		&p.AmendFirst: time.Second, &p.AmendMax: 5 * time.Minute, &p.AmendQuiet: 10 * time.Minute,
		&p.Unwatched: time.Minute, &p.Forbidden: 2 * time.Minute,
		&p.SecondLook: time.Second,
		&p.Patience:   3 * time.Second,
		&p.Spread:     5 * time.Second,
		&p.Stuck:      15 * time.Minute, &p.Drain: 4 * time.Second, &p.Abandon: 10 * time.Second,
		&p.Report: 10 * time.Second,
	} {
		if *value <= 0 {
			*value = standard
		}
	}
	return p
}
