package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// enter moves this process into the cgroups of the node, makes them the root of all that it can see of cgroups, and begins
// anew: a namespace belongs to a thread, and only the one that executes the program again has it.
func enter(cgroups, args []string) error {
	for _, dir := range cgroups {
		if err := join(dir); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("a cgroup namespace: %w", err)
	}
	return syscall.Exec(self, append([]string{self, "run"}, args...), os.Environ())
}

// join makes a cgroup and moves this process there.
func join(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	// A cpuset begins without processors and takes no process before it has some.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(dir, file); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		return fmt.Errorf("enter cgroup: %w", err)
	}
	return nil
}

func inherit(dir, file string) error {
	own, err := os.ReadFile(filepath.Join(dir, file))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	if len(bytes.TrimSpace(own)) > 0 {
		return nil
	}
	parents, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
	if err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), parents, 0o644); err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	return nil
}
