package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cgroupLimit bounds the wait for cgroups of which the last process has just ended.
const cgroupLimit = 10 * time.Second

// newCgroups are directories of this name, one in each cgroup hierarchy, below where this process is itself: what bounds us
// bounds what we start.
func newCgroups(name string) ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	var dirs []string
	for line := range strings.Lines(string(table)) {
		before, after, found := strings.Cut(line, " - ")
		mount, super := strings.Fields(before), strings.Fields(after)
		if !found || len(mount) < 5 || len(super) < 3 || (super[0] != "cgroup" && super[0] != "cgroup2") {
			continue
		}
		root, target := mount[3], mount[4]
		place, ok := placeIn(string(own), super[0], strings.Split(super[2], ","))
		if !ok {
			return nil, fmt.Errorf("cgroups: this process is nowhere in %s", target)
		}
		inside, err := filepath.Rel(root, place)
		if err != nil || strings.HasPrefix(inside, "..") {
			return nil, fmt.Errorf("cgroups: this process is in %s, and %s shows %s only", place, target, root)
		}
		dirs = append(dirs, filepath.Join(target, inside, name))
	}
	return dirs, nil
}

// placeIn finds the cgroup of a hierarchy in /proc/self/cgroup, whose lines are number:controllers:path.
func placeIn(own, kind string, options []string) (string, bool) {
	for line := range strings.Lines(own) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if kind == "cgroup2" && parts[1] == "" {
			return parts[2], true
		}
		if kind == "cgroup" && parts[1] != "" && slices.Contains(options, strings.Split(parts[1], ",")[0]) {
			return parts[2], true
		}
	}
	return "", false
}

// removeCgroups removes directories of which no process is left, and all below them.
func removeCgroups(ctx context.Context, dirs []string) error {
	ctx, cancel := context.WithTimeout(ctx, cgroupLimit)
	defer cancel()
	var problems []error
	for _, dir := range dirs {
		for {
			err := removeCgroup(dir)
			if err == nil {
				break
			}
			select {
			case <-ctx.Done():
				problems = append(problems, fmt.Errorf("cgroup: %w", err))
			case <-time.After(20 * time.Millisecond):
				continue
			}
			break
		}
	}
	return errors.Join(problems...)
}

func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeCgroup(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
