package proc

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	roleVariable = "PROC_TEST_ROLE"
	patience     = 20 * time.Second
)

// The test binary plays its own children.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "obedient":
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		fmt.Println("ready", os.Getenv("KUBECONFIG"))
		<-terminated
		os.Exit(7)
	case "stubborn":
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		fmt.Println("ready")
		for range terminated { // and that is all
		}
	case "parent":
		parent(os.Args[1] == "detached", os.Args[2])
	}
}

// parent starts a child and waits to be killed.
func parent(detached bool, log string) {
	child, err := Start(context.Background(), role("obedient", log, detached))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("child", child.id.PID, child.id.Started)
	select {}
}

func role(name, log string, detached bool, args ...string) Spec {
	return Spec{Name: name, Path: os.Args[0], Args: args, Env: []string{roleVariable + "=" + name}, Log: log, Detached: detached}
}

func logOf(t *testing.T) string { return filepath.Join(t.TempDir(), "log") }

func waitForLog(t *testing.T, log, word string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(Tail(log, 10), word) }, patience, 5*time.Millisecond, "no %q in %s", word, log)
}

func TestStopReturnsTheExitCode(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somewhere")
	p := Run(t, role("obedient", logOf(t), false))
	waitForLog(t, p.Log, "ready")
	require.True(t, p.Running())
	require.True(t, p.Identity().Running(os.Args[0]))
	require.Equal(t, -1, p.ExitCode())

	code, err := p.Stop(patience)
	require.NoError(t, err)
	require.Equal(t, 7, code)
	require.False(t, p.Running())
	require.False(t, p.Identity().Running(""))
	require.NotContains(t, p.Tail(10), "/somewhere", "a child must not see another client configuration than its flags'")

	code, err = p.Stop(patience)
	require.NoError(t, err, "a second stop has nothing to do")
	require.Equal(t, 7, code)
}

func TestStopKillsAndSaysSoWhenSIGTERMIsIgnored(t *testing.T) {
	p := Run(t, role("stubborn", logOf(t), false))
	waitForLog(t, p.Log, "ready")
	code, err := p.Stop(50 * time.Millisecond)
	require.ErrorIs(t, err, ErrKilled)
	require.Equal(t, -1, code)
	require.False(t, p.Running())
}

func TestKillIsACrash(t *testing.T) {
	p := Run(t, role("obedient", logOf(t), false))
	waitForLog(t, p.Log, "ready")
	require.NoError(t, p.Kill())
	require.Equal(t, -1, p.ExitCode())
}

func TestEndOfContextEndsTheProcess(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, role("obedient", logOf(t), false))
	require.NoError(t, err)
	waitForLog(t, p.Log, "ready")
	cancel()
	<-p.Done()
	require.Equal(t, 7, p.ExitCode())
}

func TestStartOfAMissingProgramFails(t *testing.T) {
	_, err := Start(t.Context(), Spec{Name: "ghost", Path: "/does/not/exist", Log: logOf(t)})
	require.ErrorContains(t, err, "ghost")
}

func TestAttachedChildDiesWithAKilledParent(t *testing.T) {
	p, child, _ := startParent(t, "attached")
	require.NoError(t, p.Kill())
	require.Eventually(t, func() bool { return !child.Running("") }, patience, 5*time.Millisecond)
}

func TestDetachedChildOutlivesItsParentAndIsEndedByIdentity(t *testing.T) {
	p, child, log := startParent(t, "detached")
	waitForLog(t, log, "ready")
	require.NoError(t, p.Kill())
	require.True(t, child.Running(os.Args[0]))

	other := Identity{PID: child.PID, Started: child.Started + 1}
	require.NoError(t, other.End(t.Context(), os.Args[0], patience))
	require.NoError(t, child.End(t.Context(), "/other/program", patience))
	require.True(t, child.Running(os.Args[0]), "neither another start time nor another command line may be ended")

	require.NoError(t, child.End(t.Context(), os.Args[0], patience))
	require.False(t, child.Running(os.Args[0]))
	require.NoError(t, child.End(t.Context(), os.Args[0], patience), "what is gone needs no end")
}

func startParent(t *testing.T, kind string) (*Process, Identity, string) {
	t.Helper()
	childLog := logOf(t)
	p := Run(t, role("parent", logOf(t), false, kind, childLog))
	waitForLog(t, p.Log, "child")
	fields := strings.Fields(p.Tail(1))
	pid, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	started, err := strconv.ParseUint(fields[2], 10, 64)
	require.NoError(t, err)
	return p, Identity{PID: pid, Started: started}, childLog
}

func TestTailShowsTheLastLines(t *testing.T) {
	log := logOf(t)
	require.NoError(t, os.WriteFile(log, []byte(strings.Repeat("x", tailBytes)+"\none\ntwo\nthree\n"), 0o600))
	require.Equal(t, "two\nthree", Tail(log, 2))
	require.Contains(t, Tail(log+".missing", 2), "no log")
}
