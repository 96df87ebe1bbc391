package proc

import (
	"context"
	"testing"
	"time"
)

// stopGrace is how long a process under test may take to end.
const stopGrace = 20 * time.Second

// Run starts a process for a test. It is ended with the test, which fails if the process does not follow SIGTERM, and the
// end of its log is shown if the test has failed.
func Run(t testing.TB, spec Spec) *Process {
	t.Helper()
	// Not the test's context: that ends before the cleanups, and ours wants to see a clean exit.
	p, err := Start(context.WithoutCancel(t.Context()), spec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if p.Running() {
			if _, err := p.Stop(stopGrace); err != nil {
				t.Errorf("%v", err)
			}
		}
		if t.Failed() {
			t.Logf("end of the log of %s (%s):\n%s", p.Name, p.Log, p.Tail(60))
		}
	})
	return p
}
