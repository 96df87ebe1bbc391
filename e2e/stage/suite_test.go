package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/proc"
)

func TestTheCopyOfTheProductCanBeRunAndOutlivesABuild(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "built"), filepath.Join(folder, "copy")
	require.NoError(t, os.WriteFile(from, []byte("one version"), 0o600))
	require.NoError(t, CopyProgram(from, to))
	require.NoError(t, os.WriteFile(from, []byte("another"), 0o600))
	content, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "one version", string(content))
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100, "mode %s", info.Mode())
}

func TestAProductThatIsNotBuiltNamesTheWayOut(t *testing.T) {
	err := CopyProgram(filepath.Join(t.TempDir(), "nothing"), filepath.Join(t.TempDir(), "copy"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "scripts/build")
}

func TestAStageOfASuiteNeedsMain(t *testing.T) {
	_, err := NewForSuite(nil)
	require.ErrorContains(t, err, "os.Exit(stage.Main(m))")
}

func TestAProcessThatDoesNotEndKeepsNoneOfTheOthers(t *testing.T) {
	s := &Stage{}
	start := func(name, script string) *proc.Process {
		started := filepath.Join(t.TempDir(), "started")
		p, err := proc.Start(t.Context(), proc.Spec{
			Name: name, Path: "/bin/sh", Args: []string{"-c", script, name, started}, Log: filepath.Join(t.TempDir(), "log"),
		})
		require.NoError(t, err)
		s.processes = append(s.processes, p)
		AwaitWithin(t, time.Minute, "the start of "+name, func(context.Context) (bool, string, error) {
			_, err := os.Stat(started)
			return err == nil, "", err
		})
		return p
	}
	// The last one that was started is the first one to be ended.
	willing := start("willing", `touch "$1"; exec sleep 600`)
	deaf := start("deaf", `trap "" TERM; touch "$1"; exec sleep 600`)

	err := s.StopProcesses(100 * time.Millisecond)
	require.ErrorIs(t, err, proc.ErrKilled)
	require.ErrorContains(t, err, "deaf")
	require.False(t, deaf.Running())
	require.False(t, willing.Running())
}

func TestWhatIsReducedIsSaidAndIsWholeInAFullRun(t *testing.T) {
	told := &listener{TB: t}
	t.Setenv("FLEET_TEST_FULL", "")
	require.Equal(t, 3, Reduced(told, "rounds:", 3, 20))
	require.Equal(t, []string{"reduced: rounds: 3 instead of 20; FLEET_TEST_FULL=1 runs all"}, told.lines)
	t.Setenv("FLEET_TEST_FULL", "1")
	require.Equal(t, 20, Reduced(told, "rounds:", 3, 20))
	require.Len(t, told.lines, 1)
}

// listener keeps what a test logs from the log, where scripts/test would take it for what a suite leaves out.
type listener struct {
	testing.TB
	lines []string
}

func (l *listener) Logf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}
