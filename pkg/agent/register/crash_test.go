package register

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// crashAfter lets the given number of writes through, on both sides, and none after them, as if the process had died.
// died is closed at the first write that did not happen.
func crashAfter(writes int, servers ...*apitest.Server) (died <-chan struct{}, revive func()) {
	closed := make(chan struct{})
	var count atomic.Int64
	guard := func(c apitest.Call) int {
		if !c.Writes() {
			return 0
		}
		n := int(count.Add(1))
		if n == writes+1 {
			close(closed)
		}
		if n > writes {
			return apitest.Drop
		}
		return 0
	}
	for _, s := range servers {
		s.Guard("crash", guard)
	}
	return closed, func() {
		for _, s := range servers {
			s.Guard("crash", nil)
		}
	}
}

// collects is a hub that does at the first sign of a new credential what the real one does: the c-… goes.
func collects(h *hubtest.Hub) func() {
	return func() {
		for _, name := range h.Names(secrets, hubtest.RegistrationNamespace) {
			h.Remove(secrets, hubtest.RegistrationNamespace, name)
		}
	}
}

func registrationWrites(t *testing.T, first bool) int {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	if !first {
		w.putBootstrap(h.Bootstrap())
		a := w.start(brisk)
		w.registered(a)
		a.stop()
	}
	before := len(w.Calls(apitest.Call.Writes)) + len(h.Calls(apitest.Call.Writes))
	w.putBootstrap(h.Bootstrap())
	a := w.start(brisk)
	w.registered(a)
	a.stop()
	return len(w.Calls(apitest.Call.Writes)) + len(h.Calls(apitest.Call.Writes)) - before
}

func TestACrashAfterAnyWriteLeadsToOneRequest(t *testing.T) {
	writes := registrationWrites(t, true)
	require.GreaterOrEqual(t, writes, 6, "key, request written down, request sent, credential, request forgotten, secret dropped")
	for n := range writes {
		t.Run(fmt.Sprintf("write %d of %d is lost", n+1, writes), func(t *testing.T) {
			h := newHub(t, hubtest.Options{})
			w := newWorld(t)
			w.putBootstrap(h.Bootstrap())
			died, revive := crashAfter(n, w.Server, h.Server)
			victim := w.startWith(brisk, collects(h))
			<-died
			victim.stop()
			revive()

			w.registered(w.startWith(brisk, collects(h)))
			assert.Len(t, h.Requests(), 1)
		})
	}
}

// The same, with a credential that works while another is ordered.
func TestACrashDuringAnotherRegistrationLeadsToOneMoreRequest(t *testing.T) {
	writes := registrationWrites(t, false)
	require.GreaterOrEqual(t, writes, 5)
	for n := range writes {
		t.Run(fmt.Sprintf("write %d of %d is lost", n+1, writes), func(t *testing.T) {
			h := newHub(t, hubtest.Options{})
			w := newWorld(t)
			w.putBootstrap(h.Bootstrap())
			a := w.start(brisk)
			c := w.registered(a)
			a.stop()

			w.putBootstrap(h.Bootstrap())
			died, revive := crashAfter(n, w.Server, h.Server)
			victim := w.start(brisk)
			<-died
			victim.stop()
			revive()
			require.NotNil(t, w.secret(names.AgentCredentialStore))

			again := w.registered(w.start(brisk))
			assert.NotEqual(t, registration.Digest(c.token), registration.Digest(again.token))
			assert.Len(t, h.Requests(), 2)
		})
	}
}

// The credential was stored, but the crash came before the request was forgotten; then that credential is refused. The
// old request would never be answered again.
func TestARequestThatWasAnsweredIsNotResumed(t *testing.T) {
	h := newHub(t, hubtest.Options{})
	w := newWorld(t)
	w.putBootstrap(h.Bootstrap())
	died, revive := crashAfter(4, w.Server, h.Server)
	victim := w.startWith(brisk, collects(h))
	<-died
	victim.stop()
	revive()
	require.NotEqual(t, attempt{}, attemptOf(w.secret(names.AgentIdentitySecret).Data), "the crash came too late for this test")
	h.Revoke(w.stored().token)

	w.registered(w.startWith(brisk, collects(h)))
	assert.Len(t, h.Requests(), 2)
}
