package register

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// registeredWorld is one whose agent is registered and runs.
func registeredWorld(t *testing.T, o hubtest.Options) (*hubtest.Hub, *world, *agent, stored) {
	h := newHub(t, o)
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	return h, w, a, w.registered(a)
}

// R01: the credential is refused at run time and the bootstrap secret is gone; a new one heals without a restart.
func TestARefusalAtRunTimeWaitsForABootstrapSecret(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	h.Revoke(c.token)
	a.listener().Refused()
	w.eventually("the refusal is believed", func() bool { return a.using() == "" })
	w.eventually("people are told", func() bool {
		return w.events.count(EventCredentialRefused) == 1 && w.events.count(EventWaitingForBootstrap) == 1
	})

	w.putBootstrap(h.Bootstrap())
	again := w.registered(a)
	assert.NotEqual(t, c.token, again.token)
	assert.Len(t, h.Requests(), 2)
}

// E11: the Cluster was deleted, and its agent is ordered to register again before it has noticed.
func TestTheSameBootstrapSecretOnceMoreReplacesADeadCredential(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w, order := newWorld(t), h.Bootstrap()
	w.putBootstrap(order)
	a := w.start(brisk)
	c := w.registered(a)
	first := h.Requests()[0].Spec.Identity.Requester
	h.Revoke(c.token)
	w.putBootstrap(order)
	w.eventually("another credential is stored", func() bool { return w.stored().token != c.token })
	w.registered(a)
	require.Len(t, h.Requests(), 2)
	assert.Equal(t, first, h.Requests()[1].Spec.Identity.Requester)
}

// An upgrade of the chart writes the secret again.
func TestTheSameBootstrapSecretOnceMoreLeavesAGoodCredential(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w, order := newWorld(t), h.Bootstrap()
	w.putBootstrap(order)
	a := w.start(brisk)
	c := w.registered(a)
	w.putBootstrap(order)
	w.eventually("the secret is dropped", func() bool { return w.secret(names.AgentBootstrapSecret) == nil })
	assert.Equal(t, registration.Digest(c.token), a.using())
	assert.Len(t, h.Requests(), 1)
	assert.Equal(t, c.kubeconfig, w.stored().kubeconfig)
}

func TestARefusedCredentialIsTriedOnAndTakenUpAgain(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	account := h.AccountOf(c.token)
	h.Revoke(c.token)
	a.listener().Refused()
	w.eventually("the refusal is believed", func() bool { return a.using() == "" })
	h.Restore(c.token, account)
	w.eventually("the credential is used again", func() bool { return a.using() == registration.Digest(c.token) })
	assert.Len(t, h.Requests(), 1)
}

func TestASingle401IsNotBelieved(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	var refusals atomic.Int64
	h.Guard("restart", func(call apitest.Call) int {
		if call.On("list", hubtest.Deployments) && refusals.Add(1) == 1 {
			return http.StatusUnauthorized
		}
		return 0
	})
	a.listener().Refused()
	w.eventually("it is tried again", func() bool { return refusals.Load() >= 2 })
	w.eventually("the credential stays in use", func() bool { return a.using() == registration.Digest(c.token) })
	assert.Zero(t, w.events.count(EventCredentialRefused))
}

// A11: a hub that cannot be reached refuses nothing.
func TestAHubThatIsDownAtStartLosesNoCredential(t *testing.T) {
	for name, code := range map[string]int{
		"no answer": apitest.Drop, "overloaded": http.StatusServiceUnavailable, "broken": http.StatusInternalServerError,
		"a proxy's 403": -403, "a proxy's 404": -404,
	} {
		t.Run(name, func(t *testing.T) {
			h, w, a, c := registeredWorld(t, hubtest.Options{})
			a.stop()
			var asked atomic.Int64
			h.Guard("down", func(apitest.Call) int { asked.Add(1); return code })
			a = w.start(brisk)
			since := time.Now()
			w.eventually("the hub is asked for longer than a refusal takes to be believed", func() bool {
				return asked.Load() > 2 && time.Since(since) > 3*brisk.ProveFor
			})
			assert.Empty(t, a.using())
			assert.Equal(t, c.token, w.stored().token)
			assert.Zero(t, w.events.count(EventCredentialRefused))
			h.Guard("down", nil)
			w.eventually("the credential is used", func() bool { return a.using() == registration.Digest(c.token) })
			assert.Len(t, h.Requests(), 1)
		})
	}
}

// R02: the bootstrap token is one that the hub no longer honours.
func TestADeadBootstrapTokenIsSaidAndReplaced(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	dead := h.Bootstrap()
	h.Revoke(dead.Token)
	w.putBootstrap(dead)
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapRefused) == 1 })
	w.eventually("it is tried again now and then", func() bool {
		return len(h.Calls(func(c apitest.Call) bool { return c.On("create", hubtest.Registrations) })) > 6
	})
	assert.Equal(t, 1, w.events.count(EventBootstrapRefused), "once is enough")

	w.putBootstrap(h.Bootstrap())
	w.registered(a)
	assert.Len(t, h.Requests(), 1)
}

func TestADeadBootstrapTokenIsNotTriedBeforeItIsDue(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	dead := h.Bootstrap()
	h.Revoke(dead.Token)
	w.putBootstrap(dead)
	pace := brisk
	pace.RefusedRetry = time.Hour
	w.start(pace)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapRefused) == 1 })
	looks := func() int { return len(w.Calls(func(c apitest.Call) bool { return c.On("get", configs) })) }
	for range 3 {
		before := looks()
		w.Put(secrets, w.secret(names.AgentBootstrapSecret))
		w.eventually("the agent looks again", func() bool { return looks() > before })
	}
	creates := h.Calls(func(c apitest.Call) bool { return c.On("create", hubtest.Registrations) })
	assert.Len(t, creates, 2, "one, and one to be certain")
}

func TestABootstrapTokenThatComesBackToLifeIsUsed(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	b := h.Bootstrap()
	account := h.AccountOf(b.Token)
	h.Revoke(b.Token)
	w.putBootstrap(b)
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapRefused) == 1 })
	h.Restore(b.Token, account)
	w.registered(a)
}

func TestATokenThatDiesWhileTheAgentWaitsEndsTheHandshake(t *testing.T) {
	h := newHub(t, hubtest.Options{Hold: "ApprovalRequired"})
	w := newWorld(t)
	b := h.Bootstrap()
	w.putBootstrap(b)
	a := w.start(brisk)
	w.eventually("the request waits", func() bool { return w.events.count(EventRegistrationWaiting) == 1 })
	h.Revoke(b.Token)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapRefused) == 1 })
	h.Configure(func(o *hubtest.Options) { o.Hold = "" })
	w.putBootstrap(h.Bootstrap())
	w.registered(a)
}

// R24: a wrong first bootstrap secret, then the right one.
func TestAnotherBootstrapSecretRestartsAHandshakeThatCannotSucceed(t *testing.T) {
	for name, spoil := range map[string]func(*registration.Bootstrap){
		"nobody listens":    func(b *registration.Bootstrap) { b.APIServerURL = "https://127.0.0.1:1" },
		"another's CA":      func(b *registration.Bootstrap) { b.APIServerCA = nil },
		"another workspace": func(b *registration.Bootstrap) { b.ClusterNamespace = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubtest.Options{})
			w := newWorld(t)
			right := h.Bootstrap()
			wrong := right
			spoil(&wrong)
			w.putBootstrap(wrong)
			a := w.start(brisk)
			w.eventually("it is said", func() bool {
				return w.events.count(EventHubUnreachable)+w.events.count(EventRegistrationFailed) > 0
			})
			w.putBootstrap(right)
			w.registered(a)
		})
	}
}

func TestAnotherBootstrapSecretRestartsAHandshakeThatWaits(t *testing.T) {
	h := newHub(t, hubtest.Options{Hold: "IdentityConflict"})
	other := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.eventually("the request waits", func() bool { return w.events.count(EventRegistrationWaiting) == 1 })
	w.putBootstrap(other.Bootstrap())
	c := w.registered(a)
	assert.Equal(t, other.URL(), c.server)
}

func TestACredentialStaysInUseWhileAnotherIsOrdered(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	h.Configure(func(o *hubtest.Options) { o.Hold = "ApprovalRequired" })
	w.putBootstrap(h.Bootstrap())
	w.eventually("the request waits", func() bool { return w.events.count(EventRegistrationWaiting) == 1 })
	assert.Equal(t, registration.Digest(c.token), a.using())
	assert.Equal(t, c.token, w.stored().token)

	h.Configure(func(o *hubtest.Options) { o.Hold = "" })
	w.eventually("the new credential is used", func() bool { return a.using() != "" && a.using() != registration.Digest(c.token) })
	w.registered(a)
}

func TestAHalfWrittenBootstrapSecretIsNamedAndWaitedFor(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	b := h.Bootstrap()
	half := b.SecretData()
	delete(half, registration.KeyToken)
	w.putSecret(names.AgentBootstrapSecret, half)
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapInvalid) == 1 })
	assert.Condition(t, func() bool { return strings.Contains(strings.Join(w.events.all(), "\n"), `key "token" is empty`) })
	w.putSecret(names.AgentBootstrapSecret, b.SecretData())
	w.registered(a)
	assert.Equal(t, 1, w.events.count(EventBootstrapInvalid))
}

func TestTrustThatCannotBeIsNamedAndWaitedFor(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putConfig(map[string]string{names.ConfigKey: `{"agentTLSMode":"strict"}`})
	b := h.Bootstrap()
	b.APIServerCA = nil
	w.putBootstrap(b)
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapInvalid) == 1 })
	b.APIServerCA = h.CA()
	w.putBootstrap(b)
	w.registered(a)
}

func TestACutConnectionToTheOwnClusterLosesNoChange(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	w.CutConnections()
	w.putBootstrap(h.Bootstrap())
	require.Eventually(t, func() bool { return a.using() != "" && a.using() != registration.Digest(c.token) }, 2*time.Minute, 5*time.Millisecond)
}
