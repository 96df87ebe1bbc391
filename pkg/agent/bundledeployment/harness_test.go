package bundledeployment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/kube"
)

const (
	// soon is several times what anything here takes.
	soon = 30 * time.Second
	// aWhile is how long something is seen not to happen: many times the pauses of quick.
	aWhile = 150 * time.Millisecond

	clusterNamespace = "cluster-fleet-default-edge"
	cluster          = "edge"
	agentNamespace   = "cattle-fleet-system"
	token            = "first"
	deployments      = "fleet.cattle.io/bundledeployments"
	contentKind      = "fleet.cattle.io/contents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a pace at which tests pass.
var quick = Pace{
	RetryFirst: time.Millisecond, RetryMax: 20 * time.Millisecond, AmendFirst: time.Millisecond, AmendMax: 20 * time.Millisecond,
	Patience: time.Millisecond, Unwatched: 5 * time.Millisecond, Forbidden: 10 * time.Millisecond, SecondLook: 10 * time.Millisecond, Spread: 5 * time.Millisecond,
	Stuck: 50 * time.Millisecond, Drain: 10 * time.Millisecond, Abandon: 10 * time.Millisecond, Report: soon,
}

// world is a hub, a cluster, and what the agent makes of them.
type world struct {
	*Reconciler
	t        *testing.T
	hub      *apitest.Server
	deployer *deployer
	monitor  *monitor
	local    *fake.Clientset
	accounts []string
	refused  chan struct{}
	manifest *content.Manifest
}

// newWorld is one in which nothing runs yet.
func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, hub: apitest.New(t), deployer: newDeployer(), monitor: newMonitor(), refused: make(chan struct{}, 100)}
	w.local = fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.hub.Serve(fleet.SchemeGroupVersion.String(), metav1.APIResource{Name: fleet.BundleDeploymentResourceName, Verbs: metav1.Verbs{"create", "get"}})
	w.hub.Put("/namespaces", placeOf("uid-of-place"))
	w.manifest = w.putContent(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`)
	c := Config{Deployer: w.deployer, Monitor: w.monitor, Local: w, Workers: 4, Pace: quick}
	for _, f := range change {
		f(&c)
	}
	w.Reconciler = New(c)
	w.monitor.drifted = w.Drifted
	return w
}

// start runs the agent with one session.
func start(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := newWorld(t, change...)
	w.run()
	w.attach(token)
	return w
}

// run lets the workers work until the test ends.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		w.deployer.release()
		<-done
	})
}

// attach begins a session with a token, and returns what ends it.
func (w *world) attach(token string) (end func()) {
	kubeconfig, err := kube.BuildKubeconfig(w.hub.URL(), w.hub.CA(), token, clusterNamespace)
	require.NoError(w.t, err)
	client, err := hub.Dial(kubeconfig, kube.TLSStrict, "fleet-agent/test")
	require.NoError(w.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Attach(ctx, Session{Hub: client, Namespace: clusterNamespace, Workspace: "fleet-default", Cluster: cluster, Refused: func() {
			select {
			case w.refused <- struct{}{}:
			default:
			}
		}})
	}()
	end = func() {
		cancel()
		<-done
		client.Close()
	}
	w.t.Cleanup(end)
	return end
}

// Namespace, As and Agent are those of the cluster.
func (w *world) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return w.local.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
}

func (w *world) As(_ context.Context, account string) (kubernetes.Interface, error) {
	w.accounts = append(w.accounts, account)
	return w.local, nil
}

func (w *world) Agent() kubernetes.Interface { return w.local }

func (w *world) putContent(resources ...string) *content.Manifest {
	var list []fleet.BundleResource
	for i, text := range resources {
		list = append(list, fleet.BundleResource{Name: fmt.Sprintf("%d.yaml", i), Content: text})
	}
	m, err := content.New(list)
	require.NoError(w.t, err)
	object, err := m.Content()
	require.NoError(w.t, err)
	w.hub.Put(contentKind, object)
	return m
}

// bundle is a BundleDeployment that asks for the world's content.
func (w *world) bundle(name string, change ...func(*fleet.BundleDeployment)) *fleet.BundleDeployment {
	id := w.manifest.ID() + ":options-1"
	bd := &fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: name, Generation: 1, Labels: map[string]string{
			fleet.BundleLabel: name, fleet.BundleNamespaceLabel: "fleet-default",
		}},
		Spec: fleet.BundleDeploymentSpec{DeploymentID: id, StagedDeploymentID: id},
	}
	for _, f := range change {
		f(bd)
	}
	return bd
}

// put is the hub's create.
func (w *world) put(name string, change ...func(*fleet.BundleDeployment)) {
	w.hub.Put(deployments, w.bundle(name, change...))
}

// edit is the hub's change of a spec.
func (w *world) edit(name string, change func(*fleet.BundleDeployment)) {
	w.t.Helper()
	bd := w.get(name)
	change(bd)
	bd.Generation++
	w.hub.Put(deployments, bd)
}

func another(bd *fleet.BundleDeployment) {
	bd.Spec.DeploymentID += "x"
	bd.Spec.StagedDeploymentID = bd.Spec.DeploymentID
}

func (w *world) get(name string) *fleet.BundleDeployment {
	w.t.Helper()
	var bd fleet.BundleDeployment
	require.True(w.t, w.hub.Get(deployments, clusterNamespace, name, &bd), name)
	return &bd
}

func (w *world) putValues(name, values string) (hash string) {
	w.hub.Put("/secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterNamespace, Name: name}, Data: map[string][]byte{keyValues: []byte(values)},
	})
	sum := sha256.Sum256([]byte(values))
	return hex.EncodeToString(sum[:])
}

func (w *world) eventually(why string, check func() bool) {
	w.t.Helper()
	require.Eventually(w.t, check, soon, 2*time.Millisecond, why)
}

// becomes waits for a state of a status.
func (w *world) becomes(name, why string, check func(fleet.BundleDeploymentStatus) bool) {
	w.t.Helper()
	w.eventually(name+" "+why, func() bool { return check(w.get(name).Status) })
}

func (w *world) isDeployed(name string) {
	w.t.Helper()
	want := w.get(name).Spec.DeploymentID
	w.becomes(name, "is deployed", func(s fleet.BundleDeploymentStatus) bool { return s.AppliedDeploymentID == want && s.Ready })
}

func conditionOf(s fleet.BundleDeploymentStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Message
		}
	}
	return ""
}

// patches are the writes to the hub.
func (w *world) patches() []apitest.Call { return w.hub.Calls(apitest.Call.Writes) }

func (w *world) reads(resource string) int {
	return len(w.hub.Calls(func(c apitest.Call) bool { return c.On("get", resource) }))
}

// never sees that something does not happen for a while.
func (w *world) never(why string, check func() bool) {
	w.t.Helper()
	require.Never(w.t, check, aWhile, 2*time.Millisecond, why)
}

// refuse makes the hub answer in some way to calls of a verb on a resource; 0 ends that.
func (w *world) refuse(verb, resource string, code int) {
	if code == 0 {
		w.hub.Guard(verb+resource, nil)
		return
	}
	w.hub.Guard(verb+resource, func(c apitest.Call) int {
		if c.On(verb, resource) {
			return code
		}
		return 0
	})
}

func statusOf(t *testing.T, patch apitest.Call) map[string]any {
	t.Helper()
	var body map[string]map[string]any
	require.NoError(t, json.Unmarshal(patch.Body, &body))
	return body["status"]
}

const unreachable = http.StatusServiceUnavailable
