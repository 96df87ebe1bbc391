package heartbeat

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// soon is several times what anything here takes.
const soon = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent is a heartbeat that runs, on a clock that stands.
type agent struct {
	t       *testing.T
	hub     *hubtest.Hub
	clock   *clocktesting.FakeClock
	session hub.Session
	token   string
	// held says that the first beat waits for a report that does not settle.
	held bool

	mu      sync.Mutex
	refused int
	renewed []string
	told    []string
}

const day = 24 * time.Hour

// start lets an agent beat whose token lives for 90 days from now on.
func start(t *testing.T, h *hubtest.Hub, change func(*Options)) *agent {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	account := hubtest.Account{Namespace: hubtest.AgentsNamespace, Name: "agent", UID: "uid", Request: "request-x"}
	token := h.Mint(account, now, now.Add(90*day))
	kubeconfig, err := kube.BuildKubeconfig(h.URL(), h.CA(), token, hubtest.Namespace)
	require.NoError(t, err)
	client, err := hub.Dial(kubeconfig, kube.TLSStrict, "fleet-agent/test")
	require.NoError(t, err)
	a := &agent{t: t, hub: h, clock: clocktesting.NewFakeClock(now), token: token, session: hub.Session{
		Client: client, Workspace: hubtest.Workspace, Cluster: hubtest.Cluster, DeploymentNamespace: hubtest.Namespace,
		Digest: registration.Digest(token), Fingerprint: "0123456789abcdef0123456789abcdef",
		IssuedAt: now, Expires: now.Add(90 * day),
	}}
	o := Options{
		Interval: time.Minute, CheckinInterval: 15 * time.Minute, Instance: "fleet-agent-0", Namespace: "cattle-fleet-system",
		Version: "v1.2.3", Generation: "abc", Clock: a.clock, Random: func() float64 { return 0.5 },
	}
	change(&o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, a.session, o, Listener{
			Refused: func() { a.mu.Lock(); a.refused++; a.mu.Unlock() },
			Renewed: func(token string) { a.mu.Lock(); a.renewed = append(a.renewed, token); a.mu.Unlock() },
			Failing: func(err error) { a.mu.Lock(); a.told = append(a.told, err.Error()); a.mu.Unlock() },
			Beating: func() { a.mu.Lock(); a.told = append(a.told, "beating"); a.mu.Unlock() },
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		client.Close()
	})
	return a
}

func (a *agent) refusals() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

func (a *agent) renewals() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.renewed...)
}

// heard is what was told of failures and their end.
func (a *agent) heard() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.told...)
}

// idle waits until both loops wait for the clock, the first beat behind it unless a report that does not settle holds it.
func (a *agent) idle() {
	a.t.Helper()
	require.Eventually(a.t, func() bool {
		return a.clock.Waiters() == 2 && (a.held || len(a.hub.Calls(onLease)) > 0)
	}, soon, time.Millisecond)
}

func onLease(c apitest.Call) bool { return c.Resource == hubtest.Leases }

// pass lets time pass.
func (a *agent) pass(d time.Duration) {
	a.t.Helper()
	a.idle()
	a.clock.Step(d)
	a.idle()
}

func (a *agent) beats() int {
	return len(a.hub.Calls(func(c apitest.Call) bool { return c.On("update", hubtest.Leases) }))
}

func (a *agent) reports() []apitest.Call {
	return a.hub.Calls(func(c apitest.Call) bool { return c.On("patch", hubtest.Clusters) })
}

func unchanged(*Options) {}

func TestTheFirstBeatComesAtOnceAndSaysWhoBeats(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	before := h.Lease()
	a := start(t, h, unchanged)
	a.idle()
	lease := h.Lease()
	holder, ok := h.Holder()
	require.True(t, ok)
	assert.Equal(t, registration.Holder{Instance: "fleet-agent-0", Fingerprint: a.session.Fingerprint, Digest: a.session.Digest}, holder)
	assert.EqualValues(t, 60, *lease.Spec.LeaseDurationSeconds)
	assert.True(t, lease.Spec.RenewTime.Time.Equal(a.clock.Now()))
	assert.True(t, lease.Spec.AcquireTime.Time.Equal(a.clock.Now()))
	before.ResourceVersion, lease.ResourceVersion = "", ""
	assert.Equal(t, before.ObjectMeta, lease.ObjectMeta, "a beat leaves the metadata alone")
}

func TestABeatReadsTheLeaseOnce(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	acquired := func() time.Time { return h.Lease().Spec.AcquireTime.Time }
	a.idle()
	first := acquired()
	a.pass(time.Minute)
	a.pass(time.Minute)
	assert.Equal(t, 3, a.beats())
	assert.Len(t, h.Calls(func(c apitest.Call) bool { return c.On("get", hubtest.Leases) }), 1)
	assert.True(t, acquired().Equal(first), "the holder is the same")
	assert.True(t, h.Lease().Spec.RenewTime.Time.Equal(a.clock.Now()))
}

// A20: each interval is what was asked for.
func TestIntervalsAreHonoured(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, func(o *Options) { o.Interval, o.CheckinInterval = 10*time.Second, 5*time.Second })
	for range 12 {
		a.pass(5 * time.Second)
	}
	assert.Equal(t, 7, a.beats(), "at once, and 6 times in a minute")
	assert.Len(t, a.reports(), 13, "at once, and 12 times in a minute")
	assert.EqualValues(t, 10, *h.Lease().Spec.LeaseDurationSeconds)
}

func TestIntervalsHaveDefaults(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, func(o *Options) { o.Interval, o.CheckinInterval = 0, 0 })
	for range 15 {
		a.pass(time.Minute)
	}
	assert.Equal(t, 16, a.beats())
	assert.Len(t, a.reports(), 2)
}

func TestALeaseOfLessThanASecondIsStillALease(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, func(o *Options) { o.Interval = 100 * time.Millisecond })
	a.idle()
	assert.EqualValues(t, 1, *h.Lease().Spec.LeaseDurationSeconds)
}

func TestAnotherWriterOfTheLeaseIsRespected(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	a.idle()
	lease := h.Lease()
	lease.Labels["added"] = "by the hub"
	h.Put(hubtest.Leases, &lease)
	a.pass(time.Minute)
	lease = h.Lease()
	assert.Equal(t, "by the hub", lease.Labels["added"])
	assert.True(t, lease.Spec.RenewTime.Time.Equal(a.clock.Now()), "the beat is made all the same")
}

func TestALeaseThatIsNotThereYetIsAskedForSoon(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Remove(hubtest.Leases, hubtest.Namespace, names.HeartbeatLease)
	a := start(t, h, unchanged)
	a.idle()
	assert.Empty(t, h.Names(hubtest.Leases, hubtest.Namespace), "an agent makes no Lease")
	h.PutLease()
	a.pass(time.Second)
	assert.Equal(t, 1, a.beats())
	assert.Zero(t, a.refusals())
}

func TestFailuresAreTriedAgainMoreAndMoreSlowly(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Guard("down", func(c apitest.Call) int {
		if c.On("get", hubtest.Leases) {
			return http.StatusServiceUnavailable
		}
		return 0
	})
	a := start(t, h, unchanged)
	tries := func() int { return len(h.Calls(func(c apitest.Call) bool { return c.On("get", hubtest.Leases) })) }
	for i, pause := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		a.pass(pause*time.Second - time.Millisecond)
		assert.Equal(t, i+1, tries())
		a.pass(time.Millisecond)
		assert.Equal(t, i+2, tries())
	}
	h.Guard("down", nil)
	a.pass(time.Minute)
	assert.Equal(t, 1, a.beats())
}

// T12: people are told why the hub hears nothing, but not of a moment's trouble, and that it is over.
func TestTroubleThatLastsIsTold(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	a.idle()
	h.Guard("down", func(c apitest.Call) int { return http.StatusServiceUnavailable })
	a.pass(time.Minute)
	a.pass(time.Second)
	a.pass(2 * time.Second)
	assert.Empty(t, a.heard(), "three failures in a row are a moment")
	a.pass(4 * time.Second)
	require.Len(t, a.heard(), 1)
	assert.Contains(t, a.heard()[0], "Lease "+hubtest.Namespace)
	a.pass(8 * time.Second)
	assert.Len(t, a.heard(), 2, "each is told; who hears it knows what is news")
	h.Guard("down", nil)
	a.pass(16 * time.Second)
	a.pass(time.Minute)
	assert.Equal(t, "beating", a.heard()[2])
	assert.Len(t, a.heard(), 3)
}

func TestA401IsReported(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	a.idle()
	h.Guard("revoked", func(apitest.Call) int { return http.StatusUnauthorized })
	a.pass(time.Minute)
	assert.Equal(t, 1, a.refusals())
}

func TestTheReportSaysWhatTheAgentIs(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	cluster := &fleet.Cluster{}
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, cluster))
	cluster.Status.Namespace = hubtest.Namespace
	h.Put(hubtest.Clusters, cluster)
	a := start(t, h, unchanged)
	a.idle()
	require.Len(t, a.reports(), 1)
	call := a.reports()[0]
	assert.Equal(t, "application/json-patch+json", call.ContentType)
	assert.Equal(t, "status", call.Subresource)
	var patch []map[string]any
	require.NoError(t, json.Unmarshal(call.Body, &patch))
	assert.Equal(t, []map[string]any{{"op": "add", "path": "/status/agent", "value": map[string]any{
		"lastSeen": a.clock.Now().UTC().Format(time.RFC3339), "namespace": "cattle-fleet-system", "version": "v1.2.3", "generation": "abc",
	}}}, patch)
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, cluster))
	assert.Equal(t, "v1.2.3", cluster.Status.Agent.Version)
	assert.Equal(t, hubtest.Namespace, cluster.Status.Namespace)
}

func TestAClusterWithoutAStatusIsReportedAllTheSame(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	h.Put(hubtest.Clusters, bare{Metadata: map[string]any{"namespace": hubtest.Workspace, "name": hubtest.Cluster}}.object())
	a := start(t, h, unchanged)
	a.idle()
	var cluster fleet.Cluster
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	assert.Equal(t, "cattle-fleet-system", cluster.Status.Agent.Namespace)
	assert.Len(t, a.reports(), 2)
}

// bare is a Cluster as somebody writes it, without a status.
type bare struct {
	Metadata map[string]any `json:"metadata"`
}

func (b bare) object() *bare { return &b }
