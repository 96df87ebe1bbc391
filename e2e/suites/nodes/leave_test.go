package nodes_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
)

func TestDownLeavesNothing(t *testing.T) {
	lab.NeedNodes(t)
	stateDir := t.TempDir()
	plane, err := lab.Up(t.Context(), lab.Options{Name: "gone", StateDir: stateDir, Nodes: 1, Detached: true})
	t.Cleanup(func() { _, _ = lab.DownAll(context.Background(), stateDir) })
	require.NoError(t, err)
	c := attach(t, plane)
	namespace(t, c, "busy", nil)
	create(t, c, podOf("busy", "server", "serve"))
	awaitPod(t, c, "busy", "server", corev1.PodRunning)
	before := tracesOf(t, plane.URL, stateDir)
	requireAllKinds(t, before)

	require.NoError(t, lab.Down(t.Context(), stateDir, "gone"))
	requireNothing(t, plane.URL, stateDir, before)
	left, err := os.ReadDir(stateDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// What it was started for is killed and can clear nothing up itself.
func TestWhatAKilledTestLeavesIsClearedAway(t *testing.T) {
	lab.NeedNodes(t)
	stateDir := t.TempDir()
	starter := proc.Run(t, proc.Spec{
		Name: "starter", Path: os.Args[0], Env: []string{starterVariable + "=" + stateDir}, Log: filepath.Join(t.TempDir(), "log"),
	})
	t.Cleanup(func() { _ = lab.Down(context.Background(), stateDir, "orphan") }) // DownAll leaves alone what runs
	stage.AwaitWithin(t, patience, "the control plane", func(context.Context) (bool, string, error) {
		tail := starter.Tail(5)
		return strings.Contains(tail, "started"), tail, nil
	})
	plane, err := lab.Open(filepath.Join(stateDir, "orphan"))
	require.NoError(t, err)
	c := attach(t, plane)
	namespace(t, c, "busy", nil)
	create(t, c, podOf("busy", "server", "serve"))
	awaitPod(t, c, "busy", "server", corev1.PodRunning)
	before := tracesOf(t, plane.URL, stateDir)
	requireAllKinds(t, before)

	require.NoError(t, starter.Kill())
	stage.AwaitWithin(t, patience, "all processes to end with the one that started them", func(context.Context) (bool, string, error) {
		left := tracesOf(t, plane.URL, stateDir).processes
		return len(left) == 0, strings.Join(left, "\n"), nil
	})
	_, err = lab.DownAll(t.Context(), stateDir)
	require.NoError(t, err)
	requireNothing(t, plane.URL, stateDir, before)
}

// traces are what a control plane with nodes may leave on a machine, outside of its folder.
type traces struct{ processes, links, cgroups, mounts, rules []string }

func requireAllKinds(t *testing.T, found traces) {
	t.Helper()
	require.Greater(t, len(found.processes), 6, "etcd, API server, managers, a node with containerd, kubelet and Pods: %v", found.processes)
	require.Greater(t, len(found.links), 1, "the bridge and the link of a Pod: %v", found.links)
	require.NotEmpty(t, found.cgroups)
	// Of the others there are none even now: mounts are the node's own, and no rule is needed.
	require.Empty(t, found.mounts)
	require.Empty(t, found.rules)
}

func requireNothing(t *testing.T, url, stateDir string, before traces) {
	t.Helper()
	require.Equal(t, traces{}, tracesOf(t, url, stateDir))
	for _, link := range before.links {
		_, err := net.InterfaceByName(link)
		require.Error(t, err, "link %s is left", link)
	}
}

// tracesOf looks for what belongs to the control plane with this address, and nothing else: others may run at the same time.
func tracesOf(t *testing.T, server, stateDir string) traces {
	t.Helper()
	address, err := url.Parse(server)
	require.NoError(t, err)
	second, err := strconv.Atoi(strings.Split(address.Hostname(), ".")[1])
	require.NoError(t, err)
	slot := second - 128
	bridge, cgroup := fmt.Sprintf("fleetlab%d", slot), fmt.Sprintf("fleet-lab-%d-", slot)
	return traces{
		processes: processesOf(t, stateDir, cgroup),
		links:     linksOf(t, bridge),
		cgroups:   cgroupsOf(t, cgroup),
		mounts:    linesWith(t, "/proc/self/mountinfo", stateDir),
		rules:     rulesWith(t, bridge, address.Hostname(), fmt.Sprintf("10.192.%d.", slot)),
	}
}

func processesOf(t *testing.T, stateDir, cgroup string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err != nil || entry.Name() == strconv.Itoa(os.Getpid()) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		groups, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cgroup"))
		if strings.Contains(string(command), stateDir) || strings.Contains(string(groups), cgroup) {
			found = append(found, entry.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func linksOf(t *testing.T, bridge string) []string {
	t.Helper()
	if _, err := net.InterfaceByName(bridge); err != nil {
		return nil
	}
	ports, err := os.ReadDir(filepath.Join("/sys/class/net", bridge, "brif"))
	require.NoError(t, err)
	found := []string{bridge}
	for _, port := range ports {
		found = append(found, port.Name())
	}
	return found
}

func cgroupsOf(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), name) {
			found = append(found, path)
			return fs.SkipDir
		}
		return nil // others' come and go meanwhile
	})
	return found
}

func linesWith(t *testing.T, file, word string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, word) {
			found = append(found, line)
		}
	}
	return found
}

// rulesWith are the rules of iptables, where that is installed.
func rulesWith(t *testing.T, words ...string) []string {
	t.Helper()
	path, err := exec.LookPath("iptables-save")
	if err != nil {
		return nil
	}
	rules, err := exec.CommandContext(t.Context(), path).Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(rules)) {
		for _, word := range words {
			if strings.Contains(line, word) {
				found = append(found, line)
			}
		}
	}
	return found
}
