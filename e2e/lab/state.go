package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rancher/fleet/e2e/proc"
)

// state is what a later process must know of a control plane: the file lab.json in its folder.
type state struct {
	Name                  string    `json:"name"`
	Version               string    `json:"version"`
	URL                   string    `json:"url"`
	Slot                  int       `json:"slot"`
	Detached              bool      `json:"detached"`
	StartedBy             string    `json:"startedBy,omitempty"`
	Audit                 bool      `json:"audit,omitempty"`
	Created               time.Time `json:"created"`
	Binaries              Binaries  `json:"binaries"`
	APIServerArgs         []string  `json:"apiServerArgs,omitempty"`
	ControllerManagerArgs []string  `json:"controllerManagerArgs,omitempty"`
	Pods                  []string  `json:"pods,omitempty"`
	Nodes                 int       `json:"nodes,omitempty"`
	// Cgroups are the directories that each node has made for itself.
	Cgroups   map[string][]string      `json:"cgroups,omitempty"`
	Processes map[string]proc.Identity `json:"processes"`
}

// components is how many processes a whole control plane has.
func (s state) components() int {
	components := 3
	if len(s.Pods) > 0 {
		components++
	}
	if s.Nodes > 0 {
		components += 1 + s.Nodes
	}
	return components
}

const stateFile = "lab.json"

// readState returns fs.ErrNotExist where no control plane has been.
func readState(dir string) (state, error) {
	content, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return state{}, err
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil {
		return state{}, fmt.Errorf("%s: %w (remove the folder if nothing of it runs)", filepath.Join(dir, stateFile), err)
	}
	return s, nil
}

func (s state) write(dir string) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("state of %s: %w", s.Name, err)
	}
	return writeFile(filepath.Join(dir, stateFile), content)
}

// running says which of the recorded processes live.
func (s state) running(dir string) []string {
	var names []string
	for name, id := range s.Processes {
		if id.Running(dir) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// writeFile replaces a file in one step and keeps it to its owner: most of what the lab writes is a secret.
func writeFile(path string, content []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// exists says whether there is a file; any doubt is an error.
func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
