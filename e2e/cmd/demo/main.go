// Command demo shows the main job end to end: a hub and two downstream clusters on real control planes, joined in all
// three ways, bundles that reach them, and an agent that upgrades itself. scripts/demo builds and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/node"
	"github.com/rancher/fleet/e2e/stage"
)

// limit bounds the whole run once everything is built; it is many times what a run takes.
const limit = 10 * time.Minute

// options are the flags.
type options struct {
	keep, down bool
	version    string
	// metrics is where the hub serves its metrics, empty for nowhere.
	metrics string
}

func main() {
	ctx, stop := untilInterrupted(context.Background(), os.Stderr)
	code := start(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// start runs the command and returns its exit code: 2 if it refused and touched nothing.
func start(ctx context.Context, args []string, complaints io.Writer) int {
	if len(args) == 4 && args[0] == node.CommandName { // what the control planes of a demo start
		return runPods(ctx, args, complaints)
	}
	o, err := parse(args, complaints)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	err = run(ctx, o)
	var refused refusal
	switch {
	case interrupted(ctx):
		if problem := (cleanUpError{}); errors.As(err, &problem) {
			fmt.Fprintf(complaints, "demo: %v\n", problem)
		}
		return exitInterrupted
	case errors.As(err, &refused):
		fmt.Fprintf(complaints, "demo: %v\n", refused)
		return 2
	case err != nil:
		fmt.Fprintf(complaints, "\ndemo: %v\n", err)
		return 1
	}
	return 0
}

// runPods stands in for a node of one of the demo's control planes.
func runPods(ctx context.Context, args []string, complaints io.Writer) int {
	err := node.Command(ctx, args[1], args[2], args[3], func(format string, args ...any) { fmt.Fprintf(complaints, format+"\n", args...) })
	if err != nil {
		fmt.Fprintf(complaints, "demo: %v\n", err)
		return 1
	}
	return 0
}

// parse reads the flags; what is wrong with them has been said when it returns.
func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("scripts/demo", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.BoolVar(&o.keep, "keep", false, "leave everything running and say how to look around")
	flags.BoolVar(&o.down, "down", false, "end a demo that was kept")
	flags.StringVar(&o.version, "version", lab.DefaultVersion, "Kubernetes line of the clusters")
	flags.StringVar(&o.metrics, "metrics", "", "loopback `address` where the hub serves its metrics, such as 127.0.0.1:8080; with --keep")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is not expected; see --help", flags.Arg(0))
	case o.keep && o.down:
		err = errors.New("either --keep or --down")
	case o.metrics != "" && !o.keep:
		err = errors.New("--metrics needs --keep: a demo that ends leaves nothing to look at")
	case o.metrics != "":
		err = checkMetrics(o.metrics)
	}
	if err != nil {
		fmt.Fprintf(complaints, "demo: %v\n", err)
	}
	return o, err
}

func run(ctx context.Context, o options) error {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	place := checkout{stateDir: lab.DefaultStateDir(root)}
	unlock, err := place.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if o.down {
		return end(ctx, place)
	}
	if err := free(ctx, o.metrics); err != nil {
		return err
	}
	lines, err := lab.Versions(root)
	if err != nil {
		return err
	}
	if !slices.Contains(lines, o.version) {
		return refusal(fmt.Sprintf("no Kubernetes line %q: this checkout has %s", o.version, strings.Join(lines, ", ")))
	}
	left, err := place.clear(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Printf("removed what an interrupted demo had left: %s\n", strings.Join(left, ", "))
	}
	return show(ctx, root, place, o)
}

// end is what --down does.
func end(ctx context.Context, place checkout) error {
	ended, err := place.down(ctx)
	for _, name := range ended {
		fmt.Printf("%s: ended\n", name)
	}
	if err == nil && len(ended) == 0 {
		fmt.Println("no demo runs in this checkout")
	}
	return err
}

// show builds, plays and cleans up.
func show(ctx context.Context, root string, place checkout, o options) (err error) {
	if _, err := stage.BuildProduct(ctx, root, os.Stdout); err != nil {
		return err
	}
	if _, err := lab.Build(ctx, root, o.version, os.Stdout); err != nil {
		return err
	}
	played, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := &demo{root: root, place: place, version: o.version, keep: o.keep, metrics: o.metrics, start: time.Now()}
	defer func() {
		if o.keep && err == nil {
			d.lookAround()
			return
		}
		err = errors.Join(err, d.cleanUp(interrupted(ctx)))
	}()
	if err := d.play(played); err != nil {
		if !interrupted(ctx) {
			d.showLogs()
		}
		return err
	}
	// A demo that was interrupted at its very end is not kept.
	return context.Cause(ctx)
}
