package stage

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// stopGrace is how long a process may take to end with its test.
	stopGrace = 30 * time.Second
	// tailLines is how much of a log is shown of a test that has failed.
	tailLines = 60
)

// EndWithTest ends at the end of a test all that the stage runs then. The test fails if a process does not follow; if it has
// failed, the end of each log is shown.
func (s *Stage) EndWithTest(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if err := s.StopProcesses(stopGrace); err != nil {
			t.Errorf("%v", err)
		}
	})
	s.ExplainFailure(t) // cleanups run the other way round: before the processes end
}

// ExplainFailure shows the end of each log if a test has failed.
func (s *Stage) ExplainFailure(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, p := range s.Processes() {
			t.Logf("--- the end of the log of %s\n%s", p.Name, p.Tail(tailLines))
		}
	})
}

// Full says whether everything runs at its full count: scripts/test --full.
func Full() bool { return os.Getenv("FLEET_TEST_FULL") == "1" }

// Reduced picks between the plain and the full amount of something, and says what is left out; scripts/test repeats that at
// its end.
func Reduced[T any](t testing.TB, what string, plain, full T) T {
	t.Helper()
	if Full() {
		return full
	}
	t.Logf("reduced: %s %v instead of %v; FLEET_TEST_FULL=1 runs all", what, plain, full)
	return plain
}

// Random is chance that another run can repeat: its seed is told, and FLEET_TEST_SEED sets it.
func Random(t testing.TB, what string) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("FLEET_TEST_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("%s: FLEET_TEST_SEED=%d repeats them", what, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Until is a context for one wait of a test.
func Until(t testing.TB, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// AwaitWithin is Await in a test, which ends if the limit passes first.
func AwaitWithin(t testing.TB, limit time.Duration, what string, done Look) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := Await(ctx, what, done); err != nil {
		t.Fatalf("%v", err)
	}
}

// FreeAddress is a loopback address on which nothing listens, for a process of the test.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("a free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
