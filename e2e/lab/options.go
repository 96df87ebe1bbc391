package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Options say what control plane to start and where.
type Options struct {
	// Name of the control plane, a DNS label; it names the folder of its state.
	Name string
	// Version is the Kubernetes line; DefaultVersion if empty.
	Version string
	// Root of the repository; looked for from the working directory upwards if empty.
	Root string
	// StateDir gets one folder per control plane; <Root>/.lab if empty.
	StateDir string
	// Audit writes one line per request to AuditLog(), without bodies.
	Audit bool
	// APIServerArgs and ControllerManagerArgs are added to the lab's own flags; a flag that is given again wins.
	APIServerArgs         []string
	ControllerManagerArgs []string
	// WithoutControllerManager leaves the controller manager out until StartControllerManager.
	WithoutControllerManager bool
	// Pods is a program with its arguments that looks after the cluster's Pods, such as a stand-in for a node. It is started
	// with two arguments more, the control plane's folder and the administrator's kubeconfig, and ended first. The control
	// plane is up when a Node is Ready.
	Pods []string
	// Nodes is how many real nodes the control plane gets: containerd and a kubelet each, and a scheduler for all. It needs
	// root and what CheckNodes looks for. The API server is then not on the loopback address but on one of a bridge, the same
	// one that its Pods know, and Pods of all other control planes with nodes reach it there.
	Nodes int
	// Detached processes live on when this process ends; scripts/lab wants that. Others die with it.
	Detached bool
	// StartedBy says for people, and for those who clear up, whose the control plane is; ByLab if empty.
	StartedBy string
	// Out gets the build's progress; standard error if nil.
	Out io.Writer
}

// Who starts control planes. Each ends its own.
const (
	ByLab  = "scripts/lab"
	ByDemo = "scripts/demo"
	ByTest = "a test"
)

// readyLimit bounds the start of one component on a machine that is busy with other things.
const readyLimit = 2 * time.Minute

// CheckName refuses what cannot name a control plane: it becomes a folder's name and a part of objects' names.
func CheckName(name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("name of the control plane %q: %s", name, problems[0])
	}
	switch name {
	case binFolder:
		return fmt.Errorf("name of the control plane: %q is where the lab keeps its binaries", name)
	case failedFolder:
		return fmt.Errorf("name of the control plane: %q is where the logs of failed tests are kept", name)
	}
	return nil
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if err := CheckName(o.Name); err != nil {
		return o, err
	}
	if o.StartedBy == "" {
		o.StartedBy = ByLab
	}
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	if o.Root == "" {
		root, err := FindRoot()
		if err != nil {
			return o, err
		}
		o.Root = root
	}
	if o.StateDir == "" {
		o.StateDir = DefaultStateDir(o.Root)
	}
	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return o, fmt.Errorf("state directory: %w", err)
	}
	o.StateDir = dir
	return o, o.checkNodes()
}

// checkNodes refuses nodes where they cannot be.
func (o Options) checkNodes() error {
	switch {
	case o.Nodes == 0:
		return nil
	case o.Nodes < 0 || o.Nodes > MaxNodes:
		return fmt.Errorf("%s: %d nodes: there can be 1 to %d", o.Name, o.Nodes, MaxNodes)
	case len(o.Pods) > 0:
		return fmt.Errorf("%s: nodes and a stand-in for a node: only one of them can look after the Pods", o.Name)
	}
	if err := CheckNodes(); err != nil {
		return fmt.Errorf("%s: no nodes on this machine: %w", o.Name, err)
	}
	return checkPlace(o.StateDir)
}

// These lie beside the control planes' folders.
const (
	binFolder    = "bin"
	failedFolder = "failed"
)

// DefaultStateDir is where scripts/lab keeps control planes and binaries.
func DefaultStateDir(root string) string { return filepath.Join(root, ".lab") }
