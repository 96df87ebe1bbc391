package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/agent/ready"
	"github.com/rancher/fleet/pkg/agent/register"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/kube/metricstest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	namespace = "cattle-fleet-system"
	// soon is several times what anything here takes.
	soon = 60 * time.Second
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is where agents run.
type cluster struct {
	*apitest.Server
	t *testing.T
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{Server: apitest.New(t), t: t}
	for _, name := range []string{metav1.NamespaceSystem, namespace} {
		c.Put("/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return c
}

func (c *cluster) putBootstrap(b registration.Bootstrap) {
	c.Put("/secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.AgentBootstrapSecret}, Data: b.SecretData(),
	})
}

func (c *cluster) bootstrapIsGone() bool {
	return !c.Get("/secrets", namespace, names.AgentBootstrapSecret, nil)
}

func (c *cluster) leader() string {
	var lease coordinationv1.Lease
	if !c.Get(hubtest.Leases, namespace, names.AgentElectionLease, &lease) || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// process is an agent that runs.
type process struct {
	cancel context.CancelFunc
	done   chan error
}

// start runs an agent in a pod of that name; its calls to its own cluster carry the name as their token.
func (c *cluster) start(pod string, change func(*Options)) *process {
	o := Options{
		Kubeconfig: c.Kubeconfig(c.t, pod), Namespace: namespace, PodName: pod, Hostname: pod, Version: "v1", Generation: "g1",
		HeartbeatInterval: 50 * time.Millisecond, CheckinInterval: time.Hour, LeaderElect: true,
		Election: kube.Election{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond},
		Pace: register.Pace{
			PollFirst: time.Millisecond, PollMax: 20 * time.Millisecond, RetryFirst: 5 * time.Millisecond,
			RetryMax: 50 * time.Millisecond, Confirm: 10 * time.Millisecond, RefusedRetry: 50 * time.Millisecond,
		},
	}
	change(&o)
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel, done: make(chan error, 1)}
	go func() { p.done <- Run(ctx, o) }()
	c.t.Cleanup(func() { _ = p.stop() })
	return p
}

// stop ends the process as a SIGTERM would.
func (p *process) stop() error {
	p.cancel()
	err, ok := <-p.done
	if ok {
		close(p.done)
	}
	return err
}

func eventually(t *testing.T, why string, check func() bool) {
	t.Helper()
	require.Eventually(t, check, soon, 5*time.Millisecond, why)
}

func unchanged(*Options) {}

func TestAnAgentRegistersBeatsAndReports(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	holder, _ := h.Holder()
	assert.Equal(t, "agent-0", holder.Instance)
	fingerprint, err := registration.Fingerprint(h.Requests()[0].Spec.Identity.PublicKey)
	require.NoError(t, err)
	assert.Equal(t, fingerprint, holder.Fingerprint)
	eventually(t, "it reports", func() bool {
		var found fleet.Cluster
		return h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &found) && found.Status.Agent.Namespace == namespace
	})
	eventually(t, "the bootstrap secret is gone", c.bootstrapIsGone)
	eventually(t, "Events tell", func() bool { return len(c.Names("/events", namespace)) > 0 })
	assert.NoError(t, p.stop())
}

// A18: SIGTERM is no failure, and whoever comes next need not wait.
func TestSIGTERMGivesTheLeaseUp(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	assert.Equal(t, "agent-0", c.leader())
	assert.NoError(t, p.stop())
	assert.Empty(t, c.leader())
}

func TestSIGTERMInTheMiddleOfAHandshakeIsNoFailure(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{Mute: true})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", unchanged)
	eventually(t, "it waits for its credential", func() bool {
		return len(h.Calls(func(call apitest.Call) bool { return call.On("get", hubtest.Secrets) })) > 3
	})
	assert.NoError(t, p.stop())
	assert.Empty(t, c.leader())
}

// R10: agents that start at once make one request.
func TestAgentsThatStartTogetherMakeOneRequest(t *testing.T) {
	for range 10 {
		h := hubtest.New(t, hubtest.Options{})
		c := newCluster(t)
		c.putBootstrap(h.Bootstrap())
		var all []*process
		for _, pod := range []string{"agent-0", "agent-1", "agent-2"} {
			all = append(all, c.start(pod, unchanged))
		}
		eventually(t, "one registers", func() bool { _, ok := h.Holder(); return ok && c.bootstrapIsGone() })
		for _, p := range all {
			require.NoError(t, p.stop())
		}
		assert.Len(t, h.Requests(), 1)
		assert.Len(t, h.Names(hubtest.Secrets, hubtest.RegistrationNamespace), 1)
	}
}

// R11: a standby does nothing, and goes on with what the leader has stored.
func TestAStandbyIsPassiveAndTakesOver(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	leader := c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	first, _ := h.Holder()
	c.start("agent-1", unchanged)
	elections := func() int {
		return len(c.Calls(func(call apitest.Call) bool { return call.Token == "agent-1" && call.On("get", hubtest.Leases) }))
	}
	eventually(t, "the standby runs for election", func() bool { return elections() > 5 })
	assert.Empty(t, c.Calls(func(call apitest.Call) bool {
		looksForItsNamespace := call.On("get", "/namespaces") && call.Name == namespace
		return call.Token == "agent-1" && call.Resource != hubtest.Leases && !looksForItsNamespace
	}))

	require.NoError(t, leader.stop())
	eventually(t, "the standby beats", func() bool { holder, _ := h.Holder(); return holder.Instance == "agent-1" })
	second, _ := h.Holder()
	assert.Equal(t, first.Digest, second.Digest)
	assert.Len(t, h.Requests(), 1)
}

func TestALostLeaseEndsTheProcess(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	c.Guard("partition", func(call apitest.Call) int {
		if call.Resource == hubtest.Leases {
			return http.StatusInternalServerError
		}
		return 0
	})
	select {
	case err := <-p.done:
		close(p.done)
		assert.True(t, errors.Is(err, kube.ErrLeadershipLost), "%v", err)
	case <-time.After(soon):
		t.Fatal("the process goes on without the lease")
	}
}

func TestWithoutElectionTheAgentWorksAtOnce(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", func(o *Options) { o.LeaderElect = false })
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	assert.NoError(t, p.stop())
	assert.Empty(t, c.Calls(func(call apitest.Call) bool { return call.Resource == hubtest.Leases }))
}

// A credential is renewed by the hub, and a credential refused at run time waits for a bootstrap secret.
func TestALifeOfCredentials(t *testing.T) {
	// Due for renewal from 2 s on: a third of its life is left.
	h := hubtest.New(t, hubtest.Options{Lifetime: 3 * time.Second})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	p := c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok })
	request := h.Requests()[0].Name
	account := hubtest.Account{Namespace: hubtest.AgentsNamespace, Name: "agent", Request: request}
	next := h.Mint(account, time.Now(), time.Now().Add(time.Hour))
	h.PutRenewal(next)
	eventually(t, "the beat shows the renewed token", func() bool {
		holder, _ := h.Holder()
		return holder.Digest == registration.Digest(next)
	})
	assert.Len(t, h.Requests(), 1)

	h.Revoke(next)
	h.Configure(func(o *hubtest.Options) { o.Lifetime = time.Hour })
	eventually(t, "the refusal is noticed", func() bool {
		refusals := len(h.Calls(func(call apitest.Call) bool { return call.On("list", hubtest.Deployments) && call.Token == next }))
		return refusals > 3
	})
	c.putBootstrap(h.Bootstrap())
	eventually(t, "the beat shows another token", func() bool {
		holder, _ := h.Holder()
		return holder.Digest != registration.Digest(next)
	})
	assert.Len(t, h.Requests(), 2)
	assert.NoError(t, p.stop())
}

func TestHealthAndMetricsAreServed(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{Mute: true})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	health, metrics := freePort(t), freePort(t)
	c.start("agent-0", func(o *Options) { o.HealthAddr, o.MetricsAddr = health, metrics })
	for _, url := range []string{"http://" + health + "/healthz", "http://" + health + "/readyz", "http://" + metrics + "/metrics"} {
		eventually(t, url, func() bool { return get(url) == http.StatusOK })
	}
}

// The figures are those of the process, which other tests add to.
func TestAJoinShowsInTheMetrics(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	process, err := processFigures()
	require.NoError(t, err)
	value := func(name, result string) float64 {
		for _, m := range metricstest.Scrape(t, process.registry)[name].GetMetric() {
			if len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == result {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		return 0
	}
	registered, sent := value("fleet_agent_handshakes_total", "registered"), value("fleet_agent_heartbeats_total", "sent")
	began := time.Now()
	c.start("agent-0", unchanged)

	eventually(t, "two heartbeats", func() bool { return value("fleet_agent_heartbeats_total", "sent") >= sent+2 })
	assert.InDelta(t, registered+1, value("fleet_agent_handshakes_total", "registered"), 0)
	assert.Greater(t, value("fleet_agent_credential_expiry_timestamp_seconds", ""), float64(began.Unix()))
	assert.GreaterOrEqual(t, value("fleet_agent_last_contact_timestamp_seconds", ""), float64(began.Unix()))

	failed := value("fleet_agent_heartbeats_total", "failed")
	h.Guard("outage", func(call apitest.Call) int {
		if call.Resource == hubtest.Leases {
			return http.StatusInternalServerError
		}
		return 0
	})
	eventually(t, "a failure", func() bool { return value("fleet_agent_heartbeats_total", "failed") > failed })
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"NAMESPACE":          {},
		"namespace":          {Namespace: "No Namespace"},
		"CHECKIN_INTERVAL":   {Namespace: "ns", CheckinInterval: -1},
		"HEARTBEAT_INTERVAL": {Namespace: "ns", HeartbeatInterval: -1},
	} {
		assert.ErrorContains(t, Run(context.Background(), o), want)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func get(url string) int {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// The pod that is to take over does not lead: it finds out by itself that the hub takes the stored credential.
func TestAStandbyGetsReady(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	c.putBootstrap(h.Bootstrap())
	c.start("agent-0", unchanged)
	eventually(t, "it beats", func() bool { _, ok := h.Holder(); return ok && c.bootstrapIsGone() })
	h.Guard("hub is away", func(apitest.Call) int { return http.StatusServiceUnavailable })
	dir := t.TempDir()
	latch := ready.At(dir)
	c.start("agent-1", func(o *Options) { o.ReadyDir = dir })
	eventually(t, "it says what it waits for", func() bool {
		err := latch.Check()
		return err != nil && strings.HasPrefix(err.Error(), ready.HubUnreachable)
	})
	h.Guard("hub is away", nil)
	eventually(t, "it is ready", func() bool { return latch.Check() == nil })
	assert.Equal(t, "agent-0", c.leader())
	assert.Empty(t, c.Calls(func(call apitest.Call) bool {
		return call.Token == "agent-1" && call.Writes() && call.Resource != hubtest.Leases
	}))
}

// helm install --wait ends before the agent has a hub.
func TestAnAgentWithoutACredentialIsReady(t *testing.T) {
	c := newCluster(t)
	dir := t.TempDir()
	c.start("agent-0", func(o *Options) { o.ReadyDir = dir })
	eventually(t, "it is ready", func() bool { return ready.At(dir).Check() == nil })
}
