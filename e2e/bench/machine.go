package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rancher/fleet/e2e/lab"
)

// Machine is where and with what something was measured.
type Machine struct {
	CPU      string  `json:"cpu"`
	Cores    int     `json:"cores"`
	MemoryGB float64 `json:"memoryGB"`
	Kernel   string  `json:"kernel"`
	Go       string  `json:"go"`
	// Kubernetes is the version of the hub's API server, Product what the product's binary says of itself.
	Kubernetes string `json:"kubernetes"`
	Product    string `json:"product"`
	// Commit is that of the checkout; it ends in "-dirty" where files differ from it.
	Commit string `json:"commit"`
}

// ThisMachine describes the machine, the product's binary and the lab's Kubernetes of a line.
func ThisMachine(ctx context.Context, root, program, version string) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), CPU: "unknown"}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, fmt.Errorf("this machine's processor: %w", err)
	}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, fmt.Errorf("this machine's memory: %w", err)
	}
	kilobytes, err := kilobytesOf(memory, "MemTotal:")
	if err != nil {
		return m, fmt.Errorf("this machine's memory: %w", err)
	}
	m.MemoryGB = kilobytes / (1 << 20)
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, fmt.Errorf("this machine's kernel: %w", err)
	}
	// What follows the dash is the build's own, and says nothing about figures.
	m.Kernel, _, _ = strings.Cut(unix.ByteSliceToString(name.Release[:]), "-")
	binaries, err := lab.Build(ctx, root, version, os.Stderr)
	if err != nil {
		return m, err
	}
	if m.Kubernetes, err = output(ctx, "", binaries.Kube, "kube-apiserver", "--version"); err != nil {
		return m, err
	}
	if m.Product, err = output(ctx, "", program, "--version"); err != nil {
		return m, err
	}
	m.Commit = commitOf(ctx, root)
	return m, nil
}

// commitOf is "unknown" in a tree without git.
func commitOf(ctx context.Context, root string) string {
	commit, err := output(ctx, root, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "unknown"
	}
	// What an earlier run has recorded does not change what is measured.
	if changes, err := output(ctx, root, "git", "status", "--porcelain", "--", ".", ":!bench"); err != nil || changes != "" {
		commit += "-dirty"
	}
	return commit
}

func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// BusyCPU is the processor time, in seconds, that the whole machine has spent on anything since it started.
func BusyCPU() (float64, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("the machine's processor time: %w", err)
	}
	return parseBusy(stat)
}

// parseBusy adds up user, nice, system, interrupts and what other machines on the same host took (steal): all but idle
// time and waits for disks. Guests are in user time already.
func parseBusy(stat []byte) (float64, error) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat is not understood: %.80q", line)
	}
	busy := 0.0
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseUint(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		busy += float64(n) / ticks
	}
	return busy, nil
}
