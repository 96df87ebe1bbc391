package heartbeat

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// What the hub could not have seen is no silence. Minutes count from when the hub began to look; the grace is three.
func TestTimeThatTheHubDoesNotKnowDoesNotCount(t *testing.T) {
	minute := func(n float64) time.Time { return began.Add(time.Duration(n * float64(time.Minute))) }
	never := time.Time{}
	for name, test := range map[string]struct {
		seen  time.Time
		touch kube.Touch
		now   time.Time
		want  contact
		ends  time.Time
	}{
		"seen a moment ago":                      {minute(1), kube.Touch{Since: began}, minute(2), connected, minute(4)},
		"not seen for a grace":                   {minute(1), kube.Touch{Since: began}, minute(4), silent, minute(4)},
		"seen a moment ago, then out of touch":   {minute(1), kube.Touch{Since: began, Lost: true}, minute(2), connected, minute(4)},
		"out of touch for longer than a grace":   {minute(1), kube.Touch{Since: began, Lost: true}, minute(30), unknown, minute(4)},
		"back in touch":                          {minute(1), kube.Touch{Since: minute(30)}, minute(30), unknown, minute(33)},
		"back in touch, a fresh grace not over":  {minute(1), kube.Touch{Since: minute(30)}, minute(32.9), unknown, minute(33)},
		"back in touch for a grace, still none":  {minute(1), kube.Touch{Since: minute(30)}, minute(33), silent, minute(33)},
		"back in touch, and seen":                {minute(31), kube.Touch{Since: minute(30)}, minute(32), connected, minute(34)},
		"never seen":                             {never, kube.Touch{Since: began}, minute(3), silent, minute(3)},
		"never seen, out of touch":               {never, kube.Touch{Since: began, Lost: true}, minute(30), unknown, minute(3)},
		"never seen, back in touch":              {never, kube.Touch{Since: minute(30)}, minute(32), unknown, minute(33)},
		"never seen, back in touch for a grace":  {never, kube.Touch{Since: minute(30)}, minute(33), silent, minute(33)},
		"in touch since before the first look":   {never, kube.Touch{Since: minute(-60)}, minute(2), unknown, minute(3)},
		"a touch that never ends and has no end": {minute(1), kube.Touch{}, minute(4), silent, minute(4)},
	} {
		p := pulse{seen: test.seen, since: began, touch: test.touch}
		assert.Equal(t, test.want, p.contact(test.now, grace), name)
		assert.Equal(t, test.ends, p.ends(grace), name)
	}
}

// away is a hub with a connected cluster whose own API server can be out of reach. It probes when the test says so.
type away struct {
	*hub
	clock *clocktesting.FakeClock
	down  error
	asked chan struct{}
}

func newAway(t *testing.T) *away {
	t.Helper()
	a := &away{clock: clocktesting.NewFakeClock(began), asked: make(chan struct{})}
	a.hub, _ = joined(t)
	a.Clock = a.clock
	a.Presence = kube.NewPresence(a.clock, func() time.Duration { return Pace(a.Config.Get()) }, func(context.Context) error {
		defer func() { a.asked <- struct{}{} }()
		return a.down
	})
	a.tracker = newTracker(began, a.Presence)
	require.NoError(t, a.look(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Presence.Run(ctx) }()
	<-a.asked
	t.Cleanup(func() { cancel(); <-ended })
	return a
}

// pass lets time go by, with the probes that belong to it.
func (a *away) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for range d / paceLongest {
		require.Eventually(t, a.clock.HasWaiters, 10*time.Second, time.Millisecond)
		a.clock.Step(paceLongest)
		<-a.asked
		// The answer counts once the next probe is ordered.
		require.Eventually(t, a.clock.HasWaiters, 10*time.Second, time.Millisecond)
	}
}

// beats has the agent renew its Lease at the API server; the hub's cache shows it unless it lags.
func (a *away) beats(t *testing.T) {
	t.Helper()
	a.hub.clock.SetTime(a.clock.Now())
	a.renew(t, "a")
}

func (a *away) reason(t *testing.T) string {
	t.Helper()
	_, reason, _ := statusOf(t, a.cluster().Status, fleet.ClusterConditionAgentConnected)
	return reason
}

func connectedAway(t *testing.T) *away {
	t.Helper()
	a := newAway(t)
	a.pass(t, 10*time.Second)
	a.beats(t)
	require.NoError(t, a.look(t))
	require.Equal(t, "Heartbeat", a.reason(t))
	a.writes()
	return a
}

func TestAnOutageOfTheHubsOwnIsNoSilenceOfItsAgents(t *testing.T) {
	a := connectedAway(t)
	a.down = errors.New("connection refused")
	a.pass(t, time.Hour)
	require.NoError(t, a.look(t))
	assert.Empty(t, a.writes(), "while it is away")
	after, ordered := a.leases.After(place, names.HeartbeatLease)
	require.True(t, ordered)
	assert.Equal(t, grace+time.Second, after, "it comes back to it")

	a.down = nil
	a.pass(t, 10*time.Second)
	require.NoError(t, a.look(t))
	assert.Empty(t, a.writes(), "just back")
	after, _ = a.leases.After(place, names.HeartbeatLease)
	assert.Equal(t, grace+time.Second, after)
	a.pass(t, 2*time.Minute)
	require.NoError(t, a.look(t))
	assert.Empty(t, a.writes(), "a fresh grace is not over")
	assert.Equal(t, "Heartbeat", a.reason(t))

	a.beats(t)
	a.pass(t, time.Minute)
	require.NoError(t, a.look(t))
	assert.Equal(t, "Heartbeat", a.reason(t), "it was well all the time")
	assert.Empty(t, a.writes(), "and nothing had to be said")
}

func TestAnAgentThatDiedDuringTheOutageIsSilentAfterAFreshGrace(t *testing.T) {
	a := connectedAway(t)
	a.down = errors.New("connection refused")
	a.pass(t, time.Hour)
	a.down = nil
	a.pass(t, 10*time.Second)
	require.NoError(t, a.look(t))
	back := a.clock.Now()
	a.pass(t, grace)
	require.NoError(t, a.look(t))
	_, reason, message := statusOf(t, a.cluster().Status, fleet.ClusterConditionAgentConnected)
	assert.Equal(t, "Silent", reason)
	assert.Equal(t, "no heartbeat since "+stamp(began.Add(10*time.Second))+
		"; the hub was out of touch with its own API server for a part of the time until "+stamp(back)+", and has heard nothing since then", message)
}

// SIGSTOP, a machine that slept, a clock that was set: no probe failed, there was none.
func TestAHubThatWasStoppedDoesNotJudgeByWhatItMissed(t *testing.T) {
	for name, jump := range map[string]time.Duration{"stopped": time.Hour, "the clock set forth": 48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			a := connectedAway(t)
			a.clock.SetTime(a.clock.Now().Add(jump))
			<-a.asked // it goes on with what was due first; which of the two is first must not matter
			require.NoError(t, a.look(t))
			assert.Empty(t, a.writes())
			a.pass(t, time.Minute)
			a.beats(t)
			require.NoError(t, a.look(t))
			a.pass(t, 2*time.Minute)
			require.NoError(t, a.look(t))
			assert.Equal(t, "Heartbeat", a.reason(t))
			assert.Empty(t, a.writes())
		})
	}
}

// The connection is well and the watch is not: the Lease itself is asked before its agent is called silent.
func TestAWatchThatMissesRenewalsMakesNobodySilent(t *testing.T) {
	a := connectedAway(t)
	a.leases.Lag = true
	for range 5 {
		a.pass(t, grace)
		a.beats(t)
		require.NoError(t, a.look(t))
	}
	assert.Empty(t, a.writes())
	assert.Equal(t, "Heartbeat", a.reason(t))

	a.pass(t, time.Minute)
	a.leases.Sync()
	require.NoError(t, a.look(t))
	a.pass(t, 2*time.Minute)
	require.NoError(t, a.look(t))
	assert.Equal(t, "Silent", a.reason(t), "what was read already is no renewal when the watch shows it")
}

func TestALeaseThatCannotBeReadMakesNobodySilent(t *testing.T) {
	a := connectedAway(t)
	a.leases.Fail = func(verb, _ string) error {
		if verb == "get" {
			return errors.New("no answer")
		}
		return nil
	}
	a.pass(t, grace)
	require.ErrorContains(t, a.look(t), "no answer")
	assert.Empty(t, a.writes())

	a.leases.Fail = nil
	lease := a.leases.Live(place, names.HeartbeatLease)
	a.leases.Lag = true
	a.leases.Remove(place, names.HeartbeatLease)
	require.NoError(t, a.look(t), "its event comes")
	assert.Empty(t, a.writes())
	a.leases.Add(lease)
	require.NoError(t, a.look(t))
	assert.Equal(t, "Silent", a.reason(t))
}

// An agent without a Lease, in the same way.
func TestACheckInThatTheWatchMissedMakesNobodySilent(t *testing.T) {
	a := newAway(t)
	checkIn := func() {
		live := a.cluster()
		live.Status.Agent.LastSeen = metav1.NewTime(a.clock.Now())
		_, err := a.clusters.UpdateStatus(live)
		require.NoError(t, err)
	}
	checkIn()
	require.NoError(t, a.look(t))
	a.pass(t, time.Minute)
	checkIn()
	require.NoError(t, a.look(t))
	require.True(t, conditions.IsTrue(a.cluster().Status.Conditions, fleet.ClusterConditionAgentConnected))
	a.clusters.Lag = true
	a.pass(t, 45*time.Minute)
	checkIn()
	a.writes()
	require.NoError(t, a.look(t))
	assert.Empty(t, a.writes())
	a.pass(t, 45*time.Minute)
	require.NoError(t, a.look(t))
	assert.Equal(t, "Silent", a.reason(t))
}

func TestThePaceIsWellWithinTheGrace(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		0: paceShortest, time.Second: paceShortest, 12 * time.Second: 2 * time.Second, time.Minute: paceLongest, time.Hour: paceLongest,
	} {
		var c config.Config
		c.AgentHeartbeatInterval.Duration = interval
		assert.Equal(t, want, Pace(c), interval)
	}
}
