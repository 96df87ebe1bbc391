package main

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fifo is a pipe that nobody writes to: who opens it for reading waits for good.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

func TestCallsThatCannotWorkExitWith2(t *testing.T) {
	for _, test := range []struct{ args, says string }{
		{"extra", `"extra" is not expected`},
		{"--frobnicate", "flag provided but not defined"},
		{"--keep --down", "either --keep or --down"},
		{"--version", "flag needs an argument"},
		{"--metrics", "flag needs an argument"},
		{"--metrics 127.0.0.1:8080", "--metrics needs --keep"},
		{"--keep --metrics 8080", "such as 127.0.0.1:8080"},
		{"--keep --metrics 127.0.0.1:0", "such as 127.0.0.1:8080"},
		{"--keep --metrics 0.0.0.0:8080", "an address of the loopback"},
		{"--keep --metrics hub.example.com:8080", "an address of the loopback"},
	} {
		var out strings.Builder
		require.Equal(t, 2, start(t.Context(), strings.Fields(test.args), &out), test.args)
		require.Contains(t, out.String(), test.says)
	}
	var out strings.Builder
	require.Equal(t, 0, start(t.Context(), []string{"--help"}, &out))
	require.Contains(t, out.String(), "-keep")
}

func TestMetricsGoToTheAddressThatIsFree(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, checkMetrics(address))
	require.ErrorContains(t, free(t.Context(), address), "address already in use")
	require.NoError(t, listener.Close())
	require.NoError(t, free(t.Context(), address))
	require.NoError(t, free(t.Context(), ""))
	require.Equal(t, []string{"--metrics-bind-address", address}, metricsArgs(address))
	require.Empty(t, metricsArgs(""))
}

func TestInterruptIsSaidOnceAndHasACause(t *testing.T) {
	var out strings.Builder
	ctx, stop := untilInterrupted(t.Context(), &out)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	require.True(t, interrupted(ctx))
	require.Equal(t, "\ndemo: interrupted, cleaning up\n", out.String())
	stop()
	require.True(t, interrupted(ctx), "the cause stays")

	ctx, stop = untilInterrupted(t.Context(), &out)
	stop()
	<-ctx.Done()
	require.False(t, interrupted(ctx), "an ordinary end is none")
	limited, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	require.False(t, interrupted(limited))
}

func TestPathsAreOneWordOfAShell(t *testing.T) {
	for _, path := range []string{"/plain/.lab/demo-hub", "/with space/$HOME", `/it's/a "b"`} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+quote(path)).Output()
		require.NoError(t, err)
		require.Equal(t, path, string(out))
	}
	require.Equal(t, "/plain/.lab/demo-hub", quote("/plain/.lab/demo-hub"))
}
