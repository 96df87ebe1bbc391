package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
)

// refusal is an error that says that nothing was touched.
type refusal string

func (r refusal) Error() string { return string(r) }

const (
	anotherRuns = refusal("another demo runs in this checkout; wait for it or end it with Ctrl-C")
	keptRuns    = refusal("a demo that was kept runs in this checkout; end it with: scripts/demo --down")
)

// checkout is the one place for a demo that a checkout has: three control planes of fixed names in the lab's state
// directory, a lock, and the record of a kept demo's processes.
type checkout struct {
	// stateDir is absolute.
	stateDir string
}

// kept is a process of a demo, as recorded for the run that ends it.
type kept struct {
	Name string `json:"name"`
	proc.Identity
}

func planeNames() []string { return []string{hubName, edge1Name, edge2Name} }

// lock is held as long as a demo runs, and given back by the kernel whatever its end.
func (c checkout) lock() (unlock func(), err error) {
	path := filepath.Join(c.stateDir, "bin", "demo.lock") // where the lab has its locks
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, anotherRuns
		}
		return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return func() { file.Close() }, nil
}

// clear makes room for a run. What runs, and what is not a demo's, is left alone and refused; what an interrupted run has
// left is deleted and named.
func (c checkout) clear(ctx context.Context) (deleted []string, err error) {
	processes, err := c.running()
	if err != nil {
		return nil, err
	}
	for _, name := range planeNames() {
		plane, found, err := lab.Lookup(c.stateDir, name)
		switch {
		case err != nil:
			return nil, err
		case !found:
			continue
		case plane.StartedBy != lab.ByDemo:
			return nil, refusal(fmt.Sprintf("the demo needs the name %s, which a control plane of %s has; end that with: scripts/lab down %s",
				name, plane.StartedBy, name))
		case len(plane.Running) > 0:
			return nil, keptRuns
		}
	}
	if len(processes) > 0 {
		return nil, keptRuns
	}
	return c.remove(ctx)
}

// down ends a kept demo, or what is left of it.
func (c checkout) down(ctx context.Context) (deleted []string, err error) {
	processes, err := c.running()
	if err != nil {
		return nil, err
	}
	slices.Reverse(processes) // agents before the controller
	for _, p := range processes {
		if err := p.End(ctx, c.mark(), stopGrace); err != nil {
			return nil, fmt.Errorf("ending %s: %w", p.Name, err)
		}
		deleted = append(deleted, p.Name)
	}
	planes, err := c.remove(ctx)
	return append(deleted, planes...), err
}

// remove ends and deletes the demo's control planes and its record, however far their start came.
func (c checkout) remove(ctx context.Context) (deleted []string, err error) {
	names := planeNames()
	found := make([]bool, len(names))
	var group errgroup.Group // one that fails must not keep the others
	for i, name := range names {
		group.Go(func() error {
			plane, ok, err := lab.Lookup(c.stateDir, name)
			if err != nil || !ok || plane.StartedBy != lab.ByDemo {
				return err
			}
			found[i] = true
			return lab.Down(ctx, c.stateDir, name)
		})
	}
	err = group.Wait()
	for i, name := range names {
		if found[i] {
			deleted = append(deleted, name)
		}
	}
	if err != nil {
		return deleted, err
	}
	if err := os.Remove(c.record()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return deleted, fmt.Errorf("record of the demo's processes: %w", err)
	}
	return deleted, nil
}

// record is the path of the list of processes. It lies outside the control planes' folders, which may go before them.
func (c checkout) record() string { return filepath.Join(c.stateDir, "demo.json") }

// mark is in the command line of each of the demo's processes: the beginning of the path of its kubeconfig.
func (c checkout) mark() string { return filepath.Join(c.stateDir, "demo-") }

// keep records the processes of a demo that outlives this program.
func (c checkout) keep(processes []*proc.Process) error {
	var list []kept
	for _, p := range processes {
		list = append(list, kept{Name: p.Name, Identity: p.Identity()})
	}
	content, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("record of the demo's processes: %w", err)
	}
	fresh := c.record() + ".new"
	if err := os.WriteFile(fresh, content, 0o600); err != nil {
		return fmt.Errorf("record of the demo's processes: %w", err)
	}
	if err := os.Rename(fresh, c.record()); err != nil {
		return fmt.Errorf("record of the demo's processes: %w", err)
	}
	return nil
}

// running are the recorded processes that live.
func (c checkout) running() ([]kept, error) {
	content, err := os.ReadFile(c.record())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record of the demo's processes: %w", err)
	}
	var list []kept
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("%s: %w (remove it if nothing of the demo runs)", c.record(), err)
	}
	return slices.DeleteFunc(list, func(k kept) bool { return !k.Running(c.mark()) }), nil
}
