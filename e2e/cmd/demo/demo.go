package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Names of the demo's control planes; they are also the names of their folders below .lab.
const (
	hubName     = "demo-hub"
	edge1Name   = "demo-edge-1"
	edge2Name   = "demo-edge-2"
	edge1       = "edge-1"
	edge2       = "edge-2"
	local       = "local"
	tokenTTL    = time.Hour
	stopGrace   = 20 * time.Second
	cleanLimit  = 2 * time.Minute
	heartbeat   = "5s"
	logLines    = 30
	demoTimeFmt = "  %6.1f s  %s\n"
)

type demo struct {
	root    string
	place   checkout
	version string
	keep    bool
	metrics string
	start   time.Time

	recording    sync.Mutex
	stage        *stage.Stage
	edge1, edge2 *stage.Cluster
}

func (d *demo) step(format string, args ...any) {
	fmt.Printf(demoTimeFmt, time.Since(d.start).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) play(ctx context.Context) error {
	if err := d.raise(ctx); err != nil {
		return err
	}
	if err := d.stage.InstallHub(ctx, map[string]any{"agentHeartbeatInterval": heartbeat}); err != nil {
		return err
	}
	d.step("charts fleet-crd and fleet installed on the hub")
	if _, err := d.stage.StartController(ctx, metricsArgs(d.metrics)...); err != nil {
		return err
	}
	if err := d.record(); err != nil {
		return err
	}
	d.step("controller started, with the rights of its chart")

	played := ctx
	joins, ctx := errgroup.WithContext(ctx)
	joins.Go(func() error { return d.joinLocal(ctx) })
	joins.Go(func() error { return d.joinEdge1(ctx) })
	joins.Go(func() error { return d.joinEdge2(ctx) })
	if err := joins.Wait(); err != nil {
		return err
	}
	fmt.Println()
	if err := d.list(); err != nil {
		return err
	}
	fmt.Println()
	return d.deliverAll(played)
}

// deliverAll shows what clusters are joined for.
func (d *demo) deliverAll(ctx context.Context) error {
	if err := d.awaitAgentBundles(ctx); err != nil {
		return err
	}
	if err := d.deliver(ctx); err != nil {
		return err
	}
	return d.upgrade(ctx)
}

// raise starts the three control planes.
func (d *demo) raise(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("path of this program: %w", err)
	}
	pods := []string{self, node.CommandName, filepath.Join(d.root, "bin", "fleet")}
	planes := make([]*lab.ControlPlane, len(planeNames()))
	group, groupCtx := errgroup.WithContext(ctx)
	for i, name := range planeNames() {
		group.Go(func() (err error) {
			planes[i], err = lab.Up(groupCtx, lab.Options{
				Name: name, Root: d.root, Version: d.version, Detached: d.keep, StartedBy: lab.ByDemo, Pods: pods,
			})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	d.step("control planes of Kubernetes %s are ready: a hub and two downstream clusters", d.version)
	if d.stage, err = stage.New(d.root, planes[0]); err != nil {
		return err
	}
	d.stage.Detached = d.keep
	if d.edge1, err = stage.Attach(planes[1]); err != nil {
		return err
	}
	d.edge2, err = stage.Attach(planes[2])
	return err
}

// joinLocal: the hub registers itself.
func (d *demo) joinLocal(ctx context.Context) error {
	if _, err := d.stage.AwaitAgent(ctx, d.stage.Hub, stage.LocalAgentNamespace); err != nil {
		return err
	}
	d.step("%s: the hub deployed its own agent", local)
	return d.awaitJoined(ctx, stage.LocalWorkspace, local)
}

// joinEdge1: a person gives the hub a kubeconfig.
func (d *demo) joinEdge1(ctx context.Context) error {
	if err := d.stage.JoinByManager(ctx, d.edge1, stage.Workspace, edge1, map[string]string{"env": "demo"}); err != nil {
		return err
	}
	d.step("%s: kubeconfig secret and Cluster written to the hub", edge1)
	if _, err := d.stage.AwaitAgent(ctx, d.edge1, stage.SystemNamespace); err != nil {
		return err
	}
	d.step("%s: the hub deployed an agent", edge1)
	return d.awaitJoined(ctx, stage.Workspace, edge1)
}

// joinEdge2: a cluster joins by itself, with a token.
func (d *demo) joinEdge2(ctx context.Context) error {
	values, err := d.stage.NewToken(ctx, stage.Workspace, edge2, fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: tokenTTL}, ClusterName: edge2,
	})
	if err != nil {
		return err
	}
	d.step("%s: registration token made for one cluster of that name, its values read", edge2)
	more := map[string]any{"labels": map[string]any{"env": "demo"}, "agentHeartbeatInterval": heartbeat}
	if err := d.stage.JoinByAgent(ctx, d.edge2, values, more); err != nil {
		return err
	}
	d.step("%s: chart fleet-agent installed with those values", edge2)
	return d.awaitJoined(ctx, stage.Workspace, edge2)
}

// record lets --down find the processes of a demo that is kept, also if this program is killed.
func (d *demo) record() error {
	if !d.keep {
		return nil
	}
	d.recording.Lock()
	defer d.recording.Unlock()
	return d.place.keep(d.stage.Processes())
}

func (d *demo) awaitJoined(ctx context.Context, workspace, name string) error {
	if _, err := d.stage.AwaitConnected(ctx, workspace, name); err != nil {
		return err
	}
	d.step("%s/%s: Registered and AgentConnected", workspace, name)
	return nil
}

// list is what a person would type.
func (d *demo) list() error {
	args := []string{"cluster", "list", "--kubeconfig", d.stage.Hub.Kubeconfig()}
	fmt.Println("$ fleet cluster list")
	cmd := exec.Command(d.stage.Binary(), args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func (d *demo) showLogs() {
	if d.stage == nil {
		return
	}
	for _, path := range d.logs() {
		fmt.Fprintf(os.Stderr, "\n--- the end of %s\n%s\n", path, proc.Tail(path, logLines))
	}
}

// logs are those of the controller, and of the agents, which the stand-ins for nodes run.
func (d *demo) logs() []string {
	var paths []string
	for _, p := range d.stage.Processes() {
		paths = append(paths, p.Log)
	}
	for _, name := range planeNames() {
		agents, _ := filepath.Glob(filepath.Join(d.place.stateDir, name, "logs", "fleet-agent*.log")) // the pattern is good
		paths = append(paths, agents...)
	}
	return paths
}

// cleanUpError says that something may still run.
type cleanUpError struct{ error }

func (e cleanUpError) Unwrap() error { return e.error }

// cleanUp ends what this run has started, however far it came.
func (d *demo) cleanUp(quietly bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	var errs []error
	if d.stage != nil {
		errs = append(errs, d.stage.StopProcesses(stopGrace))
	}
	_, err := d.place.remove(ctx)
	if err := errors.Join(append(errs, err)...); err != nil {
		return cleanUpError{fmt.Errorf("cleaning up: %w", err)}
	}
	if !quietly {
		fmt.Println()
		d.step("all cleaned up")
	}
	return nil
}

// lookAround prints lines for copy and paste.
func (d *demo) lookAround() {
	fmt.Printf("\nAll of it keeps running. To look around:\n")
	fmt.Printf("  %s cluster list --kubeconfig %s\n", quote(d.stage.Binary()), quote(d.stage.Hub.Kubeconfig()))
	fmt.Printf("With kubectl, as administrator of one of the clusters:\n")
	for _, c := range []*stage.Cluster{d.stage.Hub, d.edge1, d.edge2} {
		fmt.Printf("  export KUBECONFIG=%s\n", quote(c.Kubeconfig()))
	}
	if d.metrics != "" {
		fmt.Printf("The hub's metrics:\n  curl -s http://%s/metrics | grep ^fleet_\n", d.metrics)
	}
	fmt.Printf("Logs:\n")
	for _, path := range d.logs() {
		fmt.Printf("  %s\n", quote(path))
	}
	fmt.Printf("To end it:\n  %s --down\n", quote(filepath.Join(d.root, "scripts", "demo")))
}

// quote makes a path one word of a shell's command line.
func quote(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !strings.ContainsRune("/._-", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}
