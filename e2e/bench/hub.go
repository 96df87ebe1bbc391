package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
)

const (
	// NamePrefix begins the names of the control planes.
	NamePrefix = "bench-"
	// stopGrace is how long the controller may take to end.
	stopGrace = 20 * time.Second
	// CleanLimit bounds the removal of a hub.
	CleanLimit = 2 * time.Minute
	// StartedBy is who scripts/lab says has started it.
	StartedBy = "scripts/bench"
)

// The names of what is measured, beside the components of the lab.
const (
	ProcessController = "fleet-controller"
	ProcessBench      = "bench"
)

// HubOptions say what hub to raise.
type HubOptions struct {
	// Root of the repository.
	Root string
	// Version is the Kubernetes line; the lab's default if empty.
	Version string
	// Program is the product; the one of scripts/build if empty.
	Program string
	// RTT is the round trip between agents and hub. The controller is always next to the API server.
	RTT time.Duration
	// Values are laid over those of the chart fleet.
	Values map[string]any
	// ControllerEnv is added to the controller's environment.
	ControllerEnv []string
	// Out gets the progress of builds.
	Out io.Writer
}

// Hub is a control plane with the product's charts and one controller, a process of its own with the chart's rights.
type Hub struct {
	*stage.Stage
	// AgentURL is how agents reach it.
	AgentURL string

	plane      *lab.ControlPlane
	shim       *shim.TCP
	controller *proc.Process
}

// RaiseHub starts a new hub. API server and controller manager have the limits that they come with, not the lab's wider
// ones. ctx bounds the start only.
func RaiseHub(ctx context.Context, o HubOptions) (*Hub, error) {
	stateDir := lab.DefaultStateDir(o.Root)
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	dir, err := os.MkdirTemp(stateDir, NamePrefix)
	if err != nil {
		return nil, fmt.Errorf("folder of the hub: %w", err)
	}
	plane, err := lab.Up(ctx, lab.Options{
		Name: filepath.Base(dir), Version: o.Version, Root: o.Root, Audit: true, StartedBy: StartedBy, Out: o.Out,
		APIServerArgs:         []string{"--max-requests-inflight=400", "--max-mutating-requests-inflight=200"},
		ControllerManagerArgs: []string{"--kube-api-qps=20", "--kube-api-burst=30"},
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	h := &Hub{plane: plane, AgentURL: plane.URL}
	if err := h.furnish(ctx, o); err != nil {
		return nil, errors.Join(err, h.Remove())
	}
	return h, nil
}

// furnish puts the product onto the control plane.
func (h *Hub) furnish(ctx context.Context, o HubOptions) error {
	var err error
	if h.Stage, err = stage.New(o.Root, h.plane); err != nil {
		return err
	}
	h.Stage.Program, h.Stage.Env = o.Program, o.ControllerEnv
	if o.RTT > 0 {
		if h.shim, err = shim.NewTCP(h.plane.URL); err != nil {
			return err
		}
		h.shim.Slow(o.RTT)
		h.AgentURL = h.shim.URL()
	}
	values := map[string]any{"apiServerURL": h.AgentURL}
	for key, value := range o.Values {
		values[key] = value
	}
	if err := h.InstallHub(ctx, values); err != nil {
		return err
	}
	h.controller, err = h.StartController(ctx, "--disable-bootstrap")
	return err
}

// Remove ends the hub and deletes all of it.
func (h *Hub) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), CleanLimit)
	defer cancel()
	var errs []error
	if h.Stage != nil {
		errs = append(errs, h.StopProcesses(stopGrace))
	}
	if h.shim != nil {
		h.shim.Close()
	}
	return errors.Join(append(errs, h.plane.Remove(ctx))...)
}

// AuditLog is where the API server writes down all requests.
func (h *Hub) AuditLog() string { return h.plane.AuditLog() }

// Explain is the end of the controller's log.
func (h *Hub) Explain() string {
	if h.controller == nil {
		return "the controller was not started"
	}
	return fmt.Sprintf("the end of the log of %s:\n%s", h.controller.Name, h.controller.Tail(30))
}

// Usage is what the processes of the hub, and this one, have used.
func (h *Hub) Usage() (map[string]Usage, error) {
	pids := map[string]int{ProcessBench: os.Getpid(), ProcessController: h.controller.PID()}
	for name, id := range h.plane.Processes() {
		pids[name] = id.PID
	}
	out := map[string]Usage{}
	for name, pid := range pids {
		usage, err := UsageOf(pid)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = usage
	}
	return out, nil
}
