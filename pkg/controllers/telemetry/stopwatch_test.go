package telemetry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestRequestsAreMeasuredFromTheirFirstSight(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	s := newStopwatch(clock)
	r0, r1 := request("r"), request("r", isTrue(granted, "Granted"))
	r2 := request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))
	assert.Zero(t, s.observe(nil, r0, false))
	clock.SetTime(began.Add(2 * time.Second))
	assert.Zero(t, s.observe(r0, r0, false))
	assert.Equal(t, lap{grant: 2 * time.Second, hasGrant: true}, s.observe(r0, r1, false))
	clock.SetTime(began.Add(3 * time.Second))
	assert.Zero(t, s.observe(r1, r1, false), "a grant is measured once")
	clock.SetTime(began.Add(5 * time.Second))
	assert.Equal(t, lap{use: 3 * time.Second, hasUse: true, join: 5 * time.Second, hasJoin: true}, s.observe(r1, r2, false))
	assert.Zero(t, s.observe(r2, r2, false))
	assert.Empty(t, s.runs)
}

func TestWhatCannotBeMeasuredIsNot(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	s := newStopwatch(clock)
	r1, r2 := request("r", isTrue(granted, "Granted")), request("r", isTrue(granted, "Granted"), isTrue(used, "CredentialUsed"))
	assert.Zero(t, s.observe(nil, request("r"), true), "it was there at the start")
	assert.Zero(t, s.observe(request("r"), r1, false))

	s.observe(nil, request("gap"), false)
	clock.SetTime(began.Add(time.Second))
	r2.UID = "uid-of-gap"
	assert.Equal(t, lap{grant: time.Second, hasGrant: true, join: time.Second, hasJoin: true}, s.observe(nil, r2, true), "grant and use at once")

	s.observe(nil, request("gone"), false)
	s.observe(request("gone"), nil, false)
	assert.Empty(t, s.runs)
}
