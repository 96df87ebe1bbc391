package proc

import (
	"context"
	"testing"
	"time"
)

// stopGrace is how long a process under test may take to end.
const stopGrace = 30 * time.Second

// Run starts a process for a test and ends it with the test, as EndWithTest says.
func Run(t testing.TB, spec Spec) *Process {
	t.Helper()
	// Not the test's context: that ends before the cleanups, and ours wants to see a clean exit.
	p, err := Start(context.WithoutCancel(t.Context()), spec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p.EndWithTest(t)
	return p
}

// EndWithTest ends the process at the end of a test, which fails if it does not follow SIGTERM; if the test has failed, the
// end of its log is shown.
func (p *Process) EndWithTest(t testing.TB) {
	t.Helper()
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
}
