package register

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/agent/metrics"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	agentNamespace = "cattle-fleet-system"
	secrets        = "/secrets"
	configs        = "/configmaps"
	clusterUID     = "8d4b8c0a-5a3b-4b62-9f4e-6a1d3d1a0001"
	// soon is several times what anything here takes.
	soon = 20 * time.Second
)

// brisk is the pace of the tests.
var brisk = Pace{
	PollFirst: time.Millisecond, PollMax: 10 * time.Millisecond, LookEvery: 5 * time.Millisecond,
	RetryFirst: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond, Confirm: 10 * time.Millisecond,
	RefusedRetry: 50 * time.Millisecond, ProveFor: 100 * time.Millisecond, Patience: time.Hour,
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an agent's cluster.
type world struct {
	*apitest.Server
	t      *testing.T
	client kubernetes.Interface
	events *events
	// metrics are of the agents that are started, nil where a test does not look at them.
	metrics *metrics.Metrics
}

func newWorld(t *testing.T) *world {
	w := &world{Server: apitest.New(t), t: t, events: &events{}}
	w.client = w.Client(t, "local")
	w.Put("/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: clusterUID}})
	return w
}

func (w *world) putBootstrap(b registration.Bootstrap) {
	w.putSecret(names.AgentBootstrapSecret, b.SecretData())
}

func (w *world) putSecret(name string, data map[string][]byte) {
	w.Put(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: name}, Data: data})
}

func (w *world) putConfig(data map[string]string) {
	w.Put(configs, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: names.AgentConfigMap}, Data: data})
}

func (w *world) secret(name string) *corev1.Secret {
	var secret corev1.Secret
	if !w.Get(secrets, agentNamespace, name, &secret) {
		return nil
	}
	return &secret
}

// stored is the credential that lies there; the test fails without one.
func (w *world) stored() stored {
	w.t.Helper()
	secret := w.secret(names.AgentCredentialStore)
	require.NotNil(w.t, secret, "no credential is stored")
	c, err := readStored(secret)
	require.NoError(w.t, err)
	return c
}

// agent is a supervisor that runs.
type agent struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
	onWork func()

	mu       sync.Mutex
	sessions []hub.Session
	events   Events
	working  bool
}

// start runs a supervisor until the test ends or stop is called.
func (w *world) start(pace Pace) *agent { return w.startWith(pace, func() {}) }

// startWith calls onWork whenever a credential is taken into use.
func (w *world) startWith(pace Pace, onWork func()) *agent {
	ctx, cancel := context.WithCancel(context.Background())
	a := &agent{t: w.t, cancel: cancel, done: make(chan error, 1), onWork: onWork}
	s := NewSupervisor(Config{
		Client: w.client, Namespace: agentNamespace, Hostname: "Agent-0.example", Version: "v1.2.3", UserAgent: "fleet-agent/test",
		Recorder: w.events, About: &corev1.ObjectReference{}, Pace: pace, Clock: clock.RealClock{}, Random: rand.Float64,
		Work: a.work, Metrics: w.metrics,
	})
	go func() { a.done <- s.Run(ctx) }()
	w.t.Cleanup(a.stop)
	return a
}

func (a *agent) work(ctx context.Context, session hub.Session, events Events) {
	a.mu.Lock()
	a.sessions, a.events, a.working = append(a.sessions, session), events, true
	a.mu.Unlock()
	a.onWork()
	<-ctx.Done()
	a.mu.Lock()
	a.working = false
	a.mu.Unlock()
}

// stop ends the supervisor as a SIGTERM would.
func (a *agent) stop() {
	if a.cancel == nil {
		return
	}
	a.cancel()
	a.cancel = nil
	require.NoError(a.t, <-a.done)
}

// using is the digest of the token that the work goes on with, empty while there is no work.
func (a *agent) using() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.working {
		return ""
	}
	return a.sessions[len(a.sessions)-1].Digest
}

func (a *agent) listener() Events {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.events
}

func (w *world) eventually(why string, check func() bool) {
	w.t.Helper()
	require.Eventually(w.t, check, soon, 2*time.Millisecond, why)
}

// registered waits until the agent works with a credential and the bootstrap secret is gone.
func (w *world) registered(a *agent) stored {
	w.t.Helper()
	w.eventually("the agent registers", func() bool {
		return a.using() != "" && w.secret(names.AgentBootstrapSecret) == nil
	})
	c := w.stored()
	w.eventually("the agent works with what is stored", func() bool { return a.using() == registration.Digest(c.token) })
	return c
}

// events records what would be Events.
type events struct {
	mu      sync.Mutex
	reasons []string
	texts   []string
}

func (e *events) Event(_ runtime.Object, _, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reasons, e.texts = append(e.reasons, reason), append(e.texts, message)
}

func (e *events) Eventf(runtime.Object, string, string, string, ...any) {}

func (e *events) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {
}

func (e *events) count(reason string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, r := range e.reasons {
		if r == reason {
			n++
		}
	}
	return n
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.texts...)
}

// newHub is a hub that behaves unless it is told otherwise.
func contains(body []byte, what string) bool { return bytes.Contains(body, []byte(what)) }

func newHub(t *testing.T, o hubtest.Options) *hubtest.Hub { return hubtest.New(t, o) }
