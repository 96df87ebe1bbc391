package lab

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// expiry reads the end of a token's life.
func expiry(t *testing.T, token string) time.Time {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var claims struct {
		Exp int64 `json:"exp"`
	}
	require.NoError(t, json.Unmarshal(payload, &claims))
	return time.Unix(claims.Exp, 0)
}

// detached starts what scripts/lab would start, in a state directory of its own.
func detached(t *testing.T, stateDir, name string) *ControlPlane {
	t.Helper()
	c, err := Up(t.Context(), Options{Name: name, StateDir: stateDir, Detached: true})
	require.NoError(t, err)
	return c
}

// clearAway ends what a failed test has left running.
func clearAway(t *testing.T, stateDir string) {
	_, err := DownAll(context.Background(), stateDir)
	assert.NoError(t, err)
}

func refused(url string) bool {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "https://"))
	if err == nil {
		conn.Close()
	}
	return err != nil
}

func TestSeveralAtOnceAndDownLeavesNothing(t *testing.T) {
	ctx, stateDir := t.Context(), t.TempDir()
	// Before anything can fail: what is detached would outlive a failed test.
	t.Cleanup(func() { clearAway(t, stateDir) })
	one, two := detached(t, stateDir, "one"), detached(t, stateDir, "two")
	require.NotEqual(t, one.URL, two.URL)
	require.NotEqual(t, serviceAddress(t, one), serviceAddress(t, two), "each has a service range of its own")
	newNamespace(t, clientOf(t, one), "only-in-one")
	_, err := clientOf(t, two).CoreV1().Namespaces().Get(ctx, "only-in-one", metav1.GetOptions{})
	require.Error(t, err)

	// Another process finds them and can work with them.
	opened, err := Open(one.Dir)
	require.NoError(t, err)
	require.NoError(t, opened.StopControllerManager(ctx))
	require.NoError(t, opened.StartControllerManager(ctx))
	all, err := List(stateDir)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.True(t, all[0].Healthy() && all[0].Detached && all[0].Name == "one", "%+v", all[0])

	pids := append(pidsOf(t, one), pidsOf(t, two)...)
	require.Len(t, pids, 6)
	require.NoError(t, Down(ctx, stateDir, "one"))
	require.NoError(t, clientOf(t, two).Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(), "the other one is left alone")
	ended, err := DownAll(ctx, stateDir)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, ended)

	require.True(t, refused(one.URL) && refused(two.URL))
	for _, pid := range pids {
		require.Empty(t, commandLine(pid), "process %d", pid)
	}
	left, err := os.ReadDir(stateDir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.ErrorContains(t, Down(ctx, stateDir, "one"), "no control plane")
}

func TestUpTakesUpWhatWasLeft(t *testing.T) {
	ctx, stateDir := t.Context(), t.TempDir()
	t.Cleanup(func() { clearAway(t, stateDir) })
	first := detached(t, stateDir, "phoenix")
	newNamespace(t, clientOf(t, first), "kept")
	require.Equal(t, pidsOf(t, first), pidsOf(t, detached(t, stateDir, "phoenix")), "what runs is not started again")
	_, err := Up(ctx, Options{Name: "phoenix", StateDir: stateDir, Version: "1.36", Detached: true})
	if built, _ := Built(mustRoot(t), "1.36"); built {
		require.ErrorContains(t, err, "exists with Kubernetes 1.37")
	}

	// As after a crash or a reboot. Our handle would wait for its children, so the record is what counts.
	recorded, err := readState(first.Dir)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(recorded.Processes[apiServer].PID, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !first.runs(apiServer) }, patience, 10*time.Millisecond)

	second := detached(t, stateDir, "phoenix")
	require.Equal(t, first.URL, second.URL)
	require.Equal(t, first.CA(), second.CA())
	_, err = clientOf(t, second).CoreV1().Namespaces().Get(ctx, "kept", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestFailedStartSaysWhyAndLeavesNoProcess(t *testing.T) {
	stateDir := t.TempDir()
	_, err := Up(t.Context(), Options{Name: "broken", StateDir: stateDir, Detached: true, APIServerArgs: []string{"--no-such-flag"}})
	require.ErrorContains(t, err, "unknown flag: --no-such-flag")
	all, err := List(stateDir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Empty(t, all[0].Running)

	// The next start explains itself with its own logs.
	_, err = Up(t.Context(), Options{Name: "broken", StateDir: stateDir, Detached: true, APIServerArgs: []string{"--other-flag"}})
	require.ErrorContains(t, err, "unknown flag: --other-flag")
	require.NotContains(t, err.Error(), "--no-such-flag")
	require.NoError(t, Down(t.Context(), stateDir, "broken"))
}

func TestStartThatEndsAtOnceCanBeTakenDown(t *testing.T) {
	stateDir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Up(ctx, Options{Name: "early", StateDir: stateDir, Detached: true, StartedBy: ByDemo})
	require.ErrorIs(t, err, context.Canceled)
	status, found, err := Lookup(stateDir, "early")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, ByDemo, status.StartedBy)
	require.Empty(t, status.Running)
	require.NoError(t, Down(t.Context(), stateDir, "early"))
	_, found, err = Lookup(stateDir, "early")
	require.NoError(t, err)
	require.False(t, found)
}

func TestBusyFolderIsExplainedWithoutTheKernelsWords(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockFolder(dir)
	require.NoError(t, err)
	defer unlock()
	_, err = lockFolder(dir)
	require.ErrorContains(t, err, "another command is starting or ending")
	require.NotContains(t, err.Error(), "unavailable")
}

func mustRoot(t *testing.T) string {
	t.Helper()
	root, err := FindRoot()
	require.NoError(t, err)
	return root
}

func serviceAddress(t *testing.T, c *ControlPlane) string {
	t.Helper()
	service, err := clientOf(t, c).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	return service.Spec.ClusterIP
}

func pidsOf(t *testing.T, c *ControlPlane) []int {
	t.Helper()
	s, err := readState(c.Dir)
	require.NoError(t, err)
	var pids []int
	for _, component := range s.Processes {
		pids = append(pids, component.PID)
	}
	slices.Sort(pids)
	return pids
}

// commandLine is empty for a process that has ended.
func commandLine(pid int) string {
	content, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "cmdline"))
	if err != nil {
		return ""
	}
	return string(content)
}
