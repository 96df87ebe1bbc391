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
	// Detached processes live on when this process ends; scripts/lab wants that. Others die with it.
	Detached bool
	// Out gets the build's progress; standard error if nil.
	Out io.Writer
}

// readyLimit bounds the start of one component on a machine that is busy with other things.
const readyLimit = 2 * time.Minute

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if problems := validation.IsDNS1123Label(o.Name); len(problems) > 0 {
		return o, fmt.Errorf("name of the control plane %q: %s", o.Name, problems[0])
	}
	if o.Name == binFolder {
		return o, fmt.Errorf("name of the control plane: %q is where the lab keeps its binaries", o.Name)
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
	return o, nil
}

// binFolder lies beside the control planes' folders.
const binFolder = "bin"

// DefaultStateDir is where scripts/lab keeps control planes and binaries.
func DefaultStateDir(root string) string { return filepath.Join(root, ".lab") }
