package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/bench/join"
	"github.com/rancher/fleet/e2e/lab"
)

func joinCommand() *cli.Command {
	return &cli.Command{
		Name:  "join",
		Usage: "synthetic agents join a new hub",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "n", Usage: "how many agents; a list with commas", Value: cli.NewIntSlice(50)},
			&cli.IntSliceFlag{Name: "rtt", Usage: "round trip between agents and hub in ms; a list with commas", Value: cli.NewIntSlice(0)},
			&cli.IntFlag{Name: "runs", Usage: "runs of each, each on a new hub", Value: 1},
			&cli.Float64Flag{Name: "rate", Usage: "agents that start in a second", DefaultText: "all at once"},
			&cli.IntFlag{Name: "singles", Usage: "joins one after the other in a run of -n 1", Value: 20},
			&cli.BoolFlag{Name: "trace", Usage: "show where the time goes, step by step"},
			&cli.StringFlag{Name: "fleet", Usage: "the product's binary", DefaultText: "built by scripts/build"},
			&cli.StringFlag{Name: "version", Usage: "Kubernetes line of the hub", Value: lab.DefaultVersion},
		},
		Action: runJoin,
	}
}

func runJoin(c *cli.Context) error {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	program := c.String("fleet")
	if program == "" {
		if err := buildProduct(c, root); err != nil {
			return err
		}
		program = filepath.Join(root, "bin", "fleet")
	}
	if _, err := lab.Build(c.Context, root, c.String("version"), os.Stderr); err != nil {
		return err
	}
	for _, n := range c.IntSlice("n") {
		for _, rtt := range c.IntSlice("rtt") {
			for i := range c.Int("runs") {
				fmt.Printf("== %d agents, round trip %d ms, run %d\n", n, rtt, i+1)
				run, err := join.Measure(c.Context, join.Options{
					Hub: bench.HubOptions{
						Root: root, Version: c.String("version"), Program: program,
						RTT: time.Duration(rtt) * time.Millisecond, Out: os.Stderr,
					},
					N: n, Rate: c.Float64("rate"), Singles: c.Int("singles"),
				})
				if err != nil {
					return err
				}
				run.Print(os.Stdout)
				if c.Bool("trace") {
					run.PrintTrace(os.Stdout)
				}
			}
		}
	}
	return nil
}

// buildProduct runs scripts/build; an interruption ends all of it.
func buildProduct(c *cli.Context, root string) error {
	build := exec.CommandContext(c.Context, filepath.Join(root, "scripts", "build"))
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	build.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	build.Cancel = func() error { return syscall.Kill(-build.Process.Pid, syscall.SIGTERM) }
	build.WaitDelay = 10 * time.Second
	if err := build.Run(); err != nil {
		return fmt.Errorf("scripts/build: %w", err)
	}
	return nil
}
