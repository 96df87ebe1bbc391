package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Status is what is known of one control plane in a state directory.
type Status struct {
	Name    string
	Version string
	URL     string
	Created time.Time
	// StartedBy is ByLab, ByDemo or ByTest.
	StartedBy string
	// Detached ones outlive the process that started them.
	Detached bool
	// Running are the names of the components whose processes live.
	Running []string

	components int
}

// Healthy says whether all components run.
func (s Status) Healthy() bool { return len(s.Running) == s.components }

// List reads the records of all control planes in a state directory, in the order of their names.
func List(stateDir string) ([]Status, error) {
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	entries, err := os.ReadDir(stateDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var out []Status
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		s, found, err := Lookup(stateDir, entry.Name())
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, s)
		}
	}
	return out, nil
}

// Lookup reads the record of one control plane.
func Lookup(stateDir, name string) (found Status, ok bool, err error) {
	dir, err := filepath.Abs(filepath.Join(stateDir, name))
	if err != nil {
		return Status{}, false, fmt.Errorf("state directory: %w", err)
	}
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, false, nil
	}
	if err != nil {
		return Status{}, false, err
	}
	return Status{
		Name: name, Version: s.Version, URL: s.URL, Created: s.Created, StartedBy: s.startedBy(), Detached: s.Detached,
		Running: s.running(dir), components: s.components(),
	}, true, nil
}

// startedBy guesses for records of earlier versions, which do not say.
func (s state) startedBy() string {
	switch {
	case s.StartedBy != "":
		return s.StartedBy
	case s.Detached:
		return ByLab
	default:
		return ByTest
	}
}

// Down ends a control plane of scripts/lab and deletes its folder. It works on what a failed start or a reboot left, too.
func Down(ctx context.Context, stateDir, name string) error {
	dir, err := filepath.Abs(filepath.Join(stateDir, name))
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	unlock, err := lockFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no control plane %q in %s", name, stateDir)
	}
	if err != nil {
		return err
	}
	defer unlock()
	s, err := readState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not the folder of a control plane: there is no %s in it", dir, stateFile)
	}
	if err != nil {
		return err
	}
	if err := endProcesses(ctx, dir, s); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("folder of %s: %w", name, err)
	}
	return nil
}

// DownAll ends all control planes of scripts/lab, and clears away what tests and demos left that were killed. Those of
// tests and demos that run are left alone: more belongs to them than their control planes.
func DownAll(ctx context.Context, stateDir string) (ended []string, err error) {
	all, err := List(stateDir)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, s := range all {
		if s.StartedBy != ByLab && len(s.Running) > 0 {
			continue
		}
		if err := Down(ctx, stateDir, s.Name); err != nil {
			problems = append(problems, err)
			continue
		}
		if !strings.HasPrefix(s.Name, testPrefix) {
			ended = append(ended, s.Name)
		}
	}
	return ended, errors.Join(problems...)
}
