package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

func upCommand() *cli.Command {
	return &cli.Command{
		Name:      "up",
		Usage:     "start control planes, or those of them that do not run",
		ArgsUsage: "NAME...",
		Flags: []cli.Flag{
			versionFlag(),
			&cli.BoolFlag{Name: "audit", Usage: "write an audit log (one line a request) to .lab/NAME/audit.jsonl"},
			&cli.GenericFlag{Name: "nodes", Usage: "--nodes[=N]: with N nodes each, 1 by itself, on which Pods run; needs root and some packages", Value: new(optionalCount)},
			&cli.BoolFlag{Name: "processes", Usage: "a stand-in for a node each: agents run as processes of this machine, other Pods are Running at once"},
		},
		Action: up,
	}
}

func versionFlag() cli.Flag {
	return &cli.StringFlag{Name: "version", Usage: "Kubernetes line", Value: lab.DefaultVersion}
}

// optionalCount is a flag that may stand without a value.
type optionalCount string

func (o *optionalCount) Set(value string) error { *o = optionalCount(value); return nil }
func (o *optionalCount) String() string         { return string(*o) }
func (o *optionalCount) IsBoolFlag() bool       { return true }

func up(c *cli.Context) error {
	nodes, err := countNodes(c)
	if err != nil {
		return commandline.Refusal(c, err.Error())
	}
	if err := checkNames(c.Args().Slice()); err != nil {
		return commandline.Refusal(c, err.Error())
	}
	if nodes > 0 { // before a build that takes minutes
		if err := lab.CheckNodes(); err != nil {
			return fmt.Errorf("no nodes on this machine: %w", err)
		}
	}
	root, stateDir, err := place(c)
	if err != nil {
		return err
	}
	pods, err := podRunner(c, root)
	if err != nil {
		return err
	}
	// Built once, before several control planes start at the same time.
	if _, err := lab.Build(c.Context, root, c.String("version"), os.Stderr); err != nil {
		return err
	}
	start := time.Now()
	planes := make([]*lab.ControlPlane, c.NArg())
	group, ctx := errgroup.WithContext(c.Context)
	for i, name := range c.Args().Slice() {
		group.Go(func() error {
			plane, err := lab.Up(ctx, lab.Options{
				Name: name, Root: root, StateDir: stateDir, Version: c.String("version"), Audit: c.Bool("audit"), Detached: true,
				Pods: pods, Nodes: nodes,
			})
			planes[i] = plane
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if nodes > 0 {
		if err := loadProduct(c.Context, root, planes); err != nil {
			return err
		}
	}
	explain(c.App.Writer, planes, time.Since(start))
	return nil
}

// checkNames is asked before anything is made.
func checkNames(names []string) error {
	if len(names) == 0 {
		return errors.New("up needs at least one name, for example: scripts/lab up hub")
	}
	for i, name := range names {
		if err := lab.CheckName(name); err != nil {
			return err
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("%q is named twice: every control plane needs a name of its own", name)
		}
	}
	return nil
}

// explain says how to use what runs now.
func explain(out io.Writer, planes []*lab.ControlPlane, took time.Duration) {
	for _, plane := range planes {
		fmt.Fprintf(out, "%s: Kubernetes %s at %s\n  kubeconfig (administrator): %s\n", plane.Name, plane.Version(), plane.URL, shortPath(plane.Kubeconfig()))
		if nodes := plane.Nodes(); len(nodes) > 0 {
			fmt.Fprintf(out, "  nodes: %s\n", strings.Join(nodes, ", "))
		}
	}
	fmt.Fprintf(out, "ready in %.1f s. For example:\n  kubectl --kubeconfig %s get namespaces\n  scripts/lab down %s\n",
		took.Seconds(), shortPath(planes[0].Kubeconfig()), strings.Join(names(planes), " "))
}

func names(planes []*lab.ControlPlane) []string {
	var out []string
	for _, plane := range planes {
		out = append(out, plane.Name)
	}
	return out
}

// shortPath is relative to the working directory where that is below it.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}

func buildCommand() *cli.Command {
	return &cli.Command{
		Name:  "build",
		Usage: "build the binaries of a Kubernetes line and start nothing",
		Flags: []cli.Flag{versionFlag()},
		Action: commandline.WithoutArguments(func(c *cli.Context) error {
			root, _, err := place(c)
			if err != nil {
				return err
			}
			binaries, err := lab.Build(c.Context, root, c.String("version"), os.Stderr)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, shortPath(binaries.Kube))
			return nil
		}),
	}
}
