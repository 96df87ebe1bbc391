package badinput_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
)

// bed is a hub with its controller, and a downstream cluster.
type bed struct {
	*stage.Stage
	edge       *stage.Cluster
	controller *proc.Process
	// front is the way to the hub, of the controller and of agents.
	front *shim.TLS
}

var (
	theBed stage.SharedBed[bed]
	places atomic.Int32
)

// ofTheBed starts the bed, or returns the one that runs.
func ofTheBed(t *testing.T) *bed {
	t.Helper()
	b := theBed.Of(t, func() *bed {
		s, edge := stage.HubAndEdge(t)
		s.Env = election
		front, err := shim.NewTLS(s.HubURL, s.HubCA) // as long as the tests run
		require.NoError(t, err)
		b := &bed{Stage: s, edge: edge, front: front}
		s.HubURL, s.HubCA = front.URL(), front.CA()
		require.NoError(t, s.InstallHub(until(t), b.values(nil)))
		b.controller, err = s.StartController(until(t))
		require.NoError(t, err)
		return b
	})
	t.Cleanup(func() { b.lives(t) })
	return b
}

// values are those of the hub's chart, with changes laid over them.
func (b *bed) values(changes map[string]any) map[string]any {
	all := map[string]any{"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false}}
	maps.Copy(all, changes)
	return all
}

// panicked is what Go, client-go and controllers write of a panic.
var panicked = regexp.MustCompile(`(?m)^panic:|Observed a panic|goroutine \d+ \[running\]|runtime error:`)

// lives says that the hub runs, has not panicked, and has not told the world what it was given in confidence.
func (b *bed) lives(t *testing.T) {
	t.Helper()
	if t.Failed() {
		t.Logf("--- the end of the log of the controller\n%s", b.controller.Tail(100))
	}
	require.True(t, b.controller.Running(), "the hub has ended")
	soundLog(t, b.controller)
}

// soundLog looks for panics and secrets in the log of a process.
func soundLog(t *testing.T, process *proc.Process) {
	t.Helper()
	log, err := os.ReadFile(process.Log)
	require.NoError(t, err)
	require.NotRegexp(t, panicked, string(log), "the log of %s", process.Name)
	require.NotContains(t, string(log), marker, "the log of %s", process.Name)
}

// place is a workspace and an agent namespace that no other test uses.
type place struct{ workspace, agents string }

func newPlace() place {
	n := places.Add(1)
	return place{workspace: fmt.Sprintf("ws-%d", n), agents: fmt.Sprintf("agents-%d", n)}
}

// watched is what the hub did in a stretch of time, by the name of the object.
type watched struct {
	requests []shim.Request
	from     int
}

// watch counts from now on.
func (b *bed) watch() *watched {
	requests := b.front.Requests()
	w := &watched{}
	if n := len(requests); n > 0 {
		w.from = requests[n-1].Number
	}
	return w
}

// upTo takes in what has come since.
func (w *watched) upTo(b *bed) *watched {
	for _, request := range b.front.Requests() {
		if request.Number > w.from {
			w.requests = append(w.requests, request)
		}
	}
	return w
}

// of are the requests of a client in a namespace, Leases and Events apart.
func (w *watched) of(client string, where func(shim.Request) bool) (lines []string) {
	for _, r := range w.requests {
		if r.UserAgent == client && r.Resource != "leases" && r.Resource != "events" && where(r) {
			lines = append(lines, r.String())
		}
	}
	return lines
}

// observe waits for the window in which requests are counted, and returns them.
func (b *bed) observe() *watched {
	w := b.watch()
	time.Sleep(window) // the window in which requests are counted
	return w.upTo(b)
}

// settle waits until what was begun is done: the figures of a cluster follow its bundles within seconds, and not
// more often than every five.
func (b *bed) settle(t *testing.T, ours func(shim.Request) bool) {
	t.Helper()
	await(t, "the hub to rest", func(context.Context) (bool, string, error) {
		last := ""
		for _, r := range b.front.Requests() {
			if r.UserAgent == "fleet-controller" && r.Write() && ours(r) && time.Since(r.Time) < window {
				last = r.String()
			}
		}
		return last == "", last, nil
	})
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
