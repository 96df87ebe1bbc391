package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
)

// sleeper runs until the test ends, with the path in its command line as a component of a control plane has it.
func sleeper(t *testing.T, name, path string) *proc.Process {
	t.Helper()
	p, err := proc.Start(t.Context(), proc.Spec{
		Name: name, Path: "/bin/sh", Args: []string{"-c", "read forever < \"$1\"", name, fifo(t), path},
		Log: filepath.Join(t.TempDir(), "log"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// plane writes the record of a control plane whose API server is p; nil if nothing of it runs.
func plane(t *testing.T, c checkout, name, startedBy string, p *proc.Process) string {
	t.Helper()
	processes := map[string]proc.Identity{}
	if p != nil {
		processes["kube-apiserver"] = p.Identity()
	}
	content, err := json.Marshal(map[string]any{"name": name, "startedBy": startedBy, "detached": true, "processes": processes})
	require.NoError(t, err)
	dir := filepath.Join(c.stateDir, name)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.json"), content, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "logs", "controller.log"), []byte("of an earlier run"), 0o600))
	return dir
}

func TestKeptDemoIsLeftAloneUntilDown(t *testing.T) {
	c := checkout{stateDir: t.TempDir()}
	server := sleeper(t, "api server", filepath.Join(c.stateDir, edge1Name))
	dirs := []string{plane(t, c, hubName, lab.ByDemo, nil), plane(t, c, edge1Name, lab.ByDemo, server)}
	_, err := c.clear(t.Context())
	require.ErrorIs(t, err, keptRuns)
	require.True(t, server.Running())
	require.DirExists(t, dirs[0], "not even what is stopped")

	ended, err := c.down(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{hubName, edge1Name}, ended)
	<-server.Done()
	require.NoDirExists(t, dirs[0])
	require.NoDirExists(t, dirs[1])
	ended, err = c.down(t.Context())
	require.NoError(t, err)
	require.Empty(t, ended)
}

func TestKeptProcessesAreFoundWhenTheirControlPlanesAreGone(t *testing.T) {
	c := checkout{stateDir: t.TempDir()}
	controller := sleeper(t, "controller", filepath.Join(c.stateDir, hubName, "kubeconfig"))
	agent := sleeper(t, "agent", filepath.Join(c.stateDir, edge1Name, "kubeconfig"))
	stranger := sleeper(t, "stranger", "/elsewhere")
	require.NoError(t, c.keep([]*proc.Process{controller, agent, stranger}))
	_, err := c.clear(t.Context())
	require.ErrorIs(t, err, keptRuns)

	ended, err := c.down(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"agent", "controller"}, ended, "the controller last")
	<-controller.Done()
	<-agent.Done()
	require.True(t, stranger.Running(), "a process of another command line is not ours")
	require.NoFileExists(t, c.record())
}

func TestWhatAnInterruptedDemoLeftGivesWay(t *testing.T) {
	c := checkout{stateDir: t.TempDir()}
	dir := plane(t, c, edge2Name, lab.ByDemo, nil)
	other := plane(t, c, "hub", lab.ByLab, nil)
	deleted, err := c.clear(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{edge2Name}, deleted)
	require.NoDirExists(t, dir, "its logs are not shown as ours")
	require.DirExists(t, other)
}

func TestControlPlanesOfOthersAreNeitherUsedNorRemoved(t *testing.T) {
	c := checkout{stateDir: t.TempDir()}
	stale := plane(t, c, hubName, lab.ByDemo, nil)
	dir := plane(t, c, edge2Name, lab.ByLab, nil)
	_, err := c.clear(t.Context())
	var refused refusal
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "scripts/lab down "+edge2Name)
	require.DirExists(t, stale)
	_, err = c.remove(t.Context())
	require.NoError(t, err)
	require.DirExists(t, dir)
}

func TestSecondDemoInACheckoutIsRefused(t *testing.T) {
	c := checkout{stateDir: t.TempDir()}
	unlock, err := c.lock()
	require.NoError(t, err)
	_, err = c.lock()
	require.ErrorIs(t, err, anotherRuns)
	unlock()
	unlock, err = c.lock()
	require.NoError(t, err)
	unlock()
}
