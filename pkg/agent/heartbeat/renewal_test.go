package heartbeat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/agent/hub"
	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
)

func TestARenewalIsLookedForFromAThirdOfTheLifeOn(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	looks := func() int { return len(h.Calls(func(c apitest.Call) bool { return c.On("get", hubtest.Secrets) })) }
	a.pass(60*day - time.Minute)
	assert.Zero(t, looks(), "it is not due")
	a.pass(time.Minute)
	assert.Equal(t, 1, looks())
	assert.Empty(t, a.renewals(), "the hub has not made it")

	h.PutRenewal("the next token")
	a.pass(time.Minute)
	assert.Equal(t, []string{"the next token"}, a.renewals())
	a.pass(time.Minute)
	assert.Len(t, a.renewals(), 2, "it is brought at each beat until it is taken up")
}

func TestTheTokenInUseIsNoRenewal(t *testing.T) {
	h := hubtest.New(t, hubtest.Options{})
	a := start(t, h, unchanged)
	h.PutRenewal(a.token)
	a.pass(60 * day)
	a.pass(time.Minute)
	assert.NotEmpty(t, h.Calls(func(c apitest.Call) bool { return c.On("get", hubtest.Secrets) }))
	assert.Empty(t, a.renewals())
}

func TestWhenARenewalIsDue(t *testing.T) {
	now := time.Now()
	assert.False(t, due(hub.Session{}, now), "a token without an end")
	assert.False(t, due(hub.Session{IssuedAt: now, Expires: now.Add(3 * time.Hour)}, now.Add(2*time.Hour-time.Second)))
	assert.True(t, due(hub.Session{IssuedAt: now, Expires: now.Add(3 * time.Hour)}, now.Add(2*time.Hour)))
	assert.True(t, due(hub.Session{IssuedAt: now, Expires: now.Add(3 * time.Hour)}, now.Add(9*time.Hour)))
}
