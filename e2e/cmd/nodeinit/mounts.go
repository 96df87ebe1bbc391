package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// arrange makes the node's own view of the file system. None of it is seen outside, and all of it goes with the last process
// of the node: /run and /var/lib, where containerd, its shims, CNI and the kubelet keep what they cannot be told to keep
// elsewhere, /var/log, /proc and the cgroups.
func arrange(state, logs string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := mountCgroups(); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	for source, target := range map[string]string{filepath.Join(state, "lib"): "/var/lib", logs: "/var/log"} {
		if err := bind(source, target); err != nil {
			return err
		}
	}
	return pretendSettings()
}

func bind(source, target string) error {
	if err := os.MkdirAll(source, 0o755); err != nil {
		return fmt.Errorf("folder for %s: %w", target, err)
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", source, target, err)
	}
	return nil
}

// mountCgroups mounts each hierarchy again, so that the node's own cgroup is its root: what containers get lies below.
func mountCgroups() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("cgroups: %w", err)
	}
	for line := range strings.Lines(string(table)) {
		target, kind, options, ok := hierarchy(line)
		if !ok {
			continue
		}
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", target, err)
		}
		if err := unix.Mount("cgroup", target, kind, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("mount %s (%s): %w", target, options, err)
		}
	}
	return nil
}

// hierarchy reads a line of mountinfo: a cgroup hierarchy, and the options that name it.
func hierarchy(line string) (target, kind, options string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	mount, super := strings.Fields(before), strings.Fields(after)
	if !found || len(mount) < 5 || len(super) < 3 {
		return "", "", "", false
	}
	switch super[0] {
	case "cgroup2":
		return mount[4], super[0], "", true
	case "cgroup":
	default:
		return "", "", "", false
	}
	var names []string
	for option := range strings.SplitSeq(super[2], ",") {
		switch {
		case strings.HasPrefix(option, "name="):
			names = append(names, "none", option) // no controller, only a name
		case option == "rw" || option == "ro" || option == "xattr" || option == "clone_children" || strings.HasPrefix(option, "release_agent="):
		default:
			names = append(names, option)
		}
	}
	return mount[4], super[0], strings.Join(names, ","), true
}

// settings of the kernel that a kubelet wants to have, and would change for the whole machine.
var settings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// pretendSettings shows the kubelet the settings that it wants, and leaves the machine's alone.
func pretendSettings() error {
	for name, value := range settings {
		shown := filepath.Join("/run", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(shown, []byte(value+"\n"), 0o444); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
		if err := unix.Mount(shown, filepath.Join("/proc/sys", name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}
