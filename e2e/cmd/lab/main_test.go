package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/lab"
)

// run runs the command as scripts/lab would, without ending the test's process.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	app := newApp()
	app.Writer, app.ErrWriter = &out, &out
	app.ExitErrHandler = func(*cli.Context, error) {}
	err := app.RunContext(t.Context(), append([]string{"lab", "--state-dir", t.TempDir()}, args...))
	return out.String(), err
}

func TestNodesAreCountedBeforeAnythingIsMade(t *testing.T) {
	requireRefused(t, `--nodes="many": not a number of nodes`, "up", "--nodes=many", "hub")
	requireRefused(t, "not a number of nodes from 1 to", "up", "--nodes=0", "hub")
	requireRefused(t, "not a number of nodes from 1 to", "up", "--nodes=1000", "hub")
	requireRefused(t, "only one of them", "up", "--nodes", "--processes", "hub")
	requireRefused(t, "at least one name", "up", "--nodes")
	requireRefused(t, "load needs", "load", "hub")
}

func TestAgentsNeedAProductThatIsBuilt(t *testing.T) {
	root := t.TempDir()
	_, err := run(t, "--root", root, "up", "--processes", "hub")
	require.ErrorContains(t, err, "run scripts/build first")
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, left)
}

// requireRefused wants exit code 2, a message, and nothing made.
func requireRefused(t *testing.T, says string, args ...string) {
	t.Helper()
	stateDir := t.TempDir()
	_, err := run(t, append([]string{"--state-dir", stateDir}, args...)...)
	var coded cli.ExitCoder
	require.ErrorAs(t, err, &coded, "%v", args)
	require.Equal(t, 2, coded.ExitCode(), "%v", args)
	require.ErrorContains(t, err, says)
	left, err := os.ReadDir(stateDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCallsThatCannotWorkExitWith2AndLeaveNothing(t *testing.T) {
	requireRefused(t, "at least one name", "up")
	requireRefused(t, `"a" is named twice`, "up", "a", "b", "a")
	requireRefused(t, "logs of failed tests", "up", "failed")
	requireRefused(t, "binaries", "up", "a", "bin")
	requireRefused(t, `no command "frobnicate": there are up, load, down, status, build`, "frobnicate")
	requireRefused(t, `status takes no arguments, and "extra" is one`, "status", "extra")
	requireRefused(t, "build takes no arguments", "build", "extra")
	requireRefused(t, "see scripts/lab --help", "--frobnicate")
	for _, command := range []string{"up", "down", "status", "build"} {
		requireRefused(t, "see scripts/lab "+command+" --help", command, "--frobnicate")
	}
}

func TestStatusSaysWhoStartedAndDownLeavesDemosAlone(t *testing.T) {
	stateDir := t.TempDir()
	// A process of this identity and folder is as good as an API server.
	self := exec.Command("/bin/sh", "-c", "read forever", filepath.Join(stateDir, "demo-hub"))
	in, err := self.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, self.Start())
	t.Cleanup(func() { in.Close(); _ = self.Wait() })
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(self.Process.Pid), "stat"))
	require.NoError(t, err)
	started := strings.Fields(string(stat))[21]

	record := func(name, startedBy, processes string) {
		require.NoError(t, os.Mkdir(filepath.Join(stateDir, name), 0o700))
		content := `{"name":"` + name + `","version":"1.37","startedBy":"` + startedBy + `","detached":true,"processes":{` + processes + `}}`
		require.NoError(t, os.WriteFile(filepath.Join(stateDir, name, "lab.json"), []byte(content), 0o600))
	}
	record("demo-hub", lab.ByDemo, `"kube-apiserver":{"pid":`+strconv.Itoa(self.Process.Pid)+`,"started":`+started+`}`)
	record("edge", lab.ByLab, "")
	out, err := run(t, "--state-dir", stateDir, "status")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^demo-hub .* only kube-apiserver running +scripts/demo$`, out)
	require.Regexp(t, `(?m)^edge .* stopped +scripts/lab$`, out)

	out, err = run(t, "--state-dir", stateDir, "down")
	require.NoError(t, err)
	require.Equal(t, "edge: ended and removed\ndemo-hub: runs on, it belongs to a demo; one that was kept is ended by scripts/demo --down\n", out)
	require.DirExists(t, filepath.Join(stateDir, "demo-hub"))
}

func TestUnknownLinesAndNamesAreErrors(t *testing.T) {
	_, err := run(t, "up", "--version", "1.12", "hub")
	require.ErrorContains(t, err, `no Kubernetes line "1.12"`)
	_, err = run(t, "down", "nobody")
	require.ErrorContains(t, err, `no control plane "nobody"`)
}

func TestEmptyLabIsNoError(t *testing.T) {
	out, err := run(t, "status")
	require.NoError(t, err)
	require.Equal(t, "NAME  KUBERNETES  URL  STATE  STARTED BY\n", out)
	out, err = run(t, "down")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestPathsAreShownFromTheWorkingDirectory(t *testing.T) {
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(".lab", "hub"), shortPath(filepath.Join(dir, ".lab", "hub")))
	require.Equal(t, "/elsewhere/kubeconfig", shortPath("/elsewhere/kubeconfig"))
}
