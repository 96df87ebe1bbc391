package register

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestARequestThatWaitsForApprovalIsKept(t *testing.T) {
	h := newHub(t, hubtest.Options{Hold: "ApprovalRequired"})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	pace := brisk
	pace.Patience = 500 * time.Millisecond // that it is said in that time is what makes the agent wait on
	a := w.start(pace)
	w.eventually("the wait is said", func() bool { return w.events.count(EventRegistrationWaiting) == 1 })
	held := time.Now()
	w.eventually("it waits longer than its patience", func() bool { return time.Since(held) > 3*pace.Patience })
	require.Len(t, h.Requests(), 1)
	h.Configure(func(o *hubtest.Options) { o.Hold = "IdentityConflict" })
	w.eventually("another reason is said", func() bool { return w.events.count(EventRegistrationWaiting) == 2 })

	h.Configure(func(o *hubtest.Options) { o.Hold = "" })
	w.registered(a)
	assert.Len(t, h.Requests(), 1)
}

func TestARequestThatNobodyAnswersIsFollowedByAnother(t *testing.T) {
	h := newHub(t, hubtest.Options{Mute: true})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	pace := brisk
	pace.Patience = 20 * time.Millisecond
	w.start(pace)
	w.eventually("another request is made", func() bool { return len(h.Requests()) > 1 })
}

func TestARequestThatIsGoneIsFollowedByAnother(t *testing.T) {
	h := newHub(t, hubtest.Options{Hold: "ApprovalRequired"})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.eventually("the request waits", func() bool { return w.events.count(EventRegistrationWaiting) == 1 })
	first := h.Requests()[0].Name
	h.Remove(hubtest.Registrations, hubtest.Workspace, first)
	w.eventually("another request is made", func() bool { return len(h.Requests()) == 1 && h.Requests()[0].Name != first })
	h.Configure(func(o *hubtest.Options) { o.Hold = "" })
	w.registered(a)
}

// Nothing on the hub ends these refusals, so that to wait would be for ever.
func TestARequestThatTheHubNeverGrantsIsFollowedByAnother(t *testing.T) {
	for _, reason := range []string{registration.ReasonCredentialConflict, registration.ReasonAccountConflict, registration.ReasonClusterGone} {
		t.Run(reason, func(t *testing.T) {
			h := newHub(t, hubtest.Options{Hold: reason})
			w := newWorld(t)
			w.putBootstrap(h.Bootstrap())
			a := w.start(brisk)
			w.eventually("others are made", func() bool { return len(h.Requests()) > 2 })
			requests := h.Requests()
			assert.NotEqual(t, requests[0].Spec.ClientRandom, requests[1].Spec.ClientRandom, "a credential's name follows from it")
			assert.Contains(t, strings.Join(w.events.all(), "\n"), reason)

			h.Configure(func(o *hubtest.Options) { o.Hold = "" })
			w.registered(a)
		})
	}
}

func TestRequestsThatTheHubNeverGrantsBecomeRare(t *testing.T) {
	h := newHub(t, hubtest.Options{Hold: registration.ReasonClusterGone})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	pace := brisk
	pace.RetryFirst, pace.RetryMax = 40*time.Millisecond, time.Hour
	since := time.Now()
	w.start(pace)
	w.eventually("four are made", func() bool { return len(h.Requests()) == 4 })
	assert.GreaterOrEqual(t, time.Since(since), 7*40*time.Millisecond*8/10, "40, 80 and 160 ms lie between them, less a fifth")
}

// A person can end these.
func TestARequestThatSomebodyCanLetPassIsKept(t *testing.T) {
	for _, reason := range []string{"InvalidRequest", "Denied", "Revoked", "TokenUnknown", "WaitingForApproval", "IdentityConflict", "ClusterNameTaken"} {
		t.Run(reason, func(t *testing.T) {
			h := newHub(t, hubtest.Options{Hold: reason})
			w := newWorld(t)
			w.putBootstrap(h.Bootstrap())
			a := w.start(brisk)
			reads := func() int {
				return len(h.Calls(func(c apitest.Call) bool { return c.On("get", hubtest.Registrations) }))
			}
			w.eventually("the request is read again and again", func() bool { return reads() > 3 })
			require.Len(t, h.Requests(), 1)
			h.Configure(func(o *hubtest.Options) { o.Hold = "" })
			w.registered(a)
			assert.Len(t, h.Requests(), 1)
		})
	}
}

func TestACredentialForAnotherIsNotTaken(t *testing.T) {
	h := newHub(t, hubtest.Options{Strange: true})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventRegistrationFailed) > 0 })
	assert.Nil(t, w.secret(names.AgentCredentialStore))
	assert.Empty(t, a.using())
	h.Configure(func(o *hubtest.Options) { o.Strange = false })
	w.registered(a)
}

func TestANewCredentialThatDoesNotWorkIsNotStored(t *testing.T) {
	h := newHub(t, hubtest.Options{Unbound: 1 << 30})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.eventually("it is said", func() bool { return w.events.count(EventRegistrationFailed) > 0 })
	assert.Nil(t, w.secret(names.AgentCredentialStore))
	h.Configure(func(o *hubtest.Options) { o.Unbound = 0 })
	w.registered(a)
	assert.Len(t, h.Requests(), 1, "the hub repairs what it granted, no second request is needed")
}

func TestARenewedTokenIsStoredAndTakenUpWithoutARestart(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	next := h.Mint(h.AccountOf(c.token), time.Now(), time.Now().Add(time.Hour))
	a.listener().Renewed(next)
	w.eventually("the work goes on with it", func() bool { return a.using() == registration.Digest(next) })
	renewed := w.stored()
	assert.Equal(t, next, renewed.token)
	renewed.token, renewed.kubeconfig = c.token, c.kubeconfig
	assert.Equal(t, c, renewed, "nothing but the token changes")
	assert.Equal(t, 1, w.events.count(EventCredentialRenewed))
	assert.Len(t, h.Requests(), 1)
}

func TestARenewedTokenThatDoesNotWorkIsLeft(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	next := h.Mint(h.AccountOf(c.token), time.Now(), time.Now().Add(time.Hour))
	h.Revoke(next)
	a.listener().Renewed(next)
	w.eventually("it is said", func() bool { return w.events.count(EventCredentialInvalid) == 1 })
	assert.Equal(t, registration.Digest(c.token), a.using())
	assert.Equal(t, c.token, w.stored().token)
}

func TestADamagedKeyKeepsTheCredentialInUse(t *testing.T) {
	h, w, a, c := registeredWorld(t, hubtest.Options{})
	a.stop()
	w.putSecret(names.AgentIdentitySecret, map[string][]byte{registration.KeyPrivateKey: []byte("damaged")})
	a = w.start(brisk)
	w.eventually("the credential is used", func() bool { return a.using() == registration.Digest(c.token) })
	w.putBootstrap(h.Bootstrap())
	w.eventually("registering says what is wrong", func() bool { return w.events.count(EventRegistrationFailed) == 1 })
	assert.Equal(t, []byte("damaged"), w.secret(names.AgentIdentitySecret).Data[registration.KeyPrivateKey], "it is not replaced on our own")
}

func TestTokensAreNeitherLoggedNorInEvents(t *testing.T) {
	var log bytes.Buffer
	logger := logrus.StandardLogger()
	before := logger.Out
	logrus.SetOutput(&log)
	logrus.SetLevel(logrus.TraceLevel)
	defer func() { logrus.SetOutput(before); logrus.SetLevel(logrus.InfoLevel) }()

	h, w, a, c := registeredWorld(t, hubtest.Options{Unbound: 1})
	h.Revoke(c.token)
	a.listener().Refused()
	w.eventually("the refusal is believed", func() bool { return a.using() == "" })
	dead := h.Bootstrap()
	h.Revoke(dead.Token)
	w.putBootstrap(dead)
	w.eventually("it is said", func() bool { return w.events.count(EventBootstrapRefused) == 1 })
	w.putSecret(names.AgentCredentialStore, map[string][]byte{registration.KeyKubeconfig: []byte("token: " + c.token)})
	w.eventually("it is said", func() bool { return w.events.count(EventCredentialInvalid) == 1 })
	a.stop()

	require.NotEmpty(t, log.String())
	for _, text := range append(w.events.all(), log.String()) {
		for _, token := range []string{c.token, dead.Token} {
			assert.NotContains(t, text, token)
		}
	}
}
