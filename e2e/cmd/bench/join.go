package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/bench/join"
	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

// Where the figures are kept, below the root of the repository.
const (
	resultsFile = "bench/RESULTS.md"
	joinFile    = "bench/join.json"
	joinSection = "join"
)

func joinCommand() *cli.Command {
	return &cli.Command{
		Name:  "join",
		Usage: "synthetic agents go through the handshake with a new hub",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "n", Usage: "how many agents; several with commas", Value: cli.NewIntSlice(50)},
			&cli.IntSliceFlag{Name: "rtt", Usage: "round trip between agents and hub in ms; several with commas", Value: cli.NewIntSlice(0)},
			&cli.IntFlag{Name: "runs", Usage: "runs of each combination, each on a new hub", Value: 1},
			&cli.Float64Flag{Name: "rate", Usage: "agents that start in a second", DefaultText: "all at once"},
			&cli.IntFlag{Name: "singles", Usage: "joins one after the other in a run of -n 1", Value: 20},
			&cli.BoolFlag{Name: "trace", Usage: "show where the time goes, step by step"},
			&cli.StringFlag{Name: "json", Usage: "write all figures to this file"},
			&cli.BoolFlag{Name: "update", Usage: "write the figures of this call to " + resultsFile + " and " + joinFile},
			&cli.StringFlag{Name: "cpuprofile", Usage: "write a processor profile of the first run's API server to this file"},
			&cli.DurationFlag{Name: "cpuprofile-for", Usage: "how long to profile, from the start of the joins", Value: 5 * time.Second},
			&cli.StringFlag{Name: "fleet", Usage: "the product's binary", DefaultText: "built by scripts/build"},
			&cli.StringFlag{Name: "version", Usage: "Kubernetes line of the hub", Value: lab.DefaultVersion},
		},
		Action: runJoin,
	}
}

func runJoin(c *cli.Context) error {
	if err := checkJoin(c); err != nil {
		return err
	}
	place, err := prepare(c)
	if err != nil {
		return err
	}
	defer place.remove()
	report := join.Report{Date: time.Now().UTC(), Command: commandLine(), Machine: place.machine}
	for _, n := range c.IntSlice("n") {
		for _, rtt := range c.IntSlice("rtt") {
			cell, err := joinCell(c, place, n, time.Duration(rtt)*time.Millisecond)
			if err != nil {
				return err
			}
			report.Cells = append(report.Cells, cell)
		}
	}
	return saveJoin(c, place.root, report)
}

// checkJoin refuses what would measure nothing.
func checkJoin(c *cli.Context) error {
	var wrong string
	switch {
	case c.NArg() > 0:
		wrong = fmt.Sprintf("%q is not expected: join takes flags only", c.Args().First())
	case c.Int("runs") < 1 || c.Int("singles") < 1:
		wrong = "--runs and --singles are at least 1"
	case c.Float64("rate") < 0:
		wrong = "--rate is not negative"
	}
	for _, n := range c.IntSlice("n") {
		if n < 1 {
			wrong = "-n is at least 1"
		}
	}
	for _, rtt := range c.IntSlice("rtt") {
		if rtt < 0 {
			wrong = "--rtt is not negative"
		}
	}
	if wrong == "" {
		return nil
	}
	return commandline.Refusal(c, wrong+"; see scripts/bench join --help")
}

func joinCell(c *cli.Context, place *place, n int, rtt time.Duration) (join.Cell, error) {
	var runs []join.Run
	for i := range c.Int("runs") {
		fmt.Printf("== %d agents, round trip %s, run %d of %d\n", n, rtt, i+1, c.Int("runs"))
		options := join.Options{
			Hub: bench.HubOptions{
				Root: place.root, Version: c.String("version"), Program: place.program, RTT: rtt, Out: os.Stderr,
			},
			N: n, Rate: c.Float64("rate"), Singles: c.Int("singles"),
		}
		if path := c.String("cpuprofile"); path != "" && !place.profiled {
			place.profiled = true
			options.Profile = func(ctx context.Context, h *bench.Hub) error {
				return h.ProfileAPIServer(ctx, c.Duration("cpuprofile-for"), path)
			}
		}
		run, err := join.Measure(c.Context, options)
		if err != nil {
			return join.Cell{}, err
		}
		run.Print(os.Stdout)
		if c.Bool("trace") {
			run.PrintTrace(os.Stdout)
		}
		runs = append(runs, run)
	}
	return join.NewCell(n, rtt, c.Float64("rate"), runs), nil
}

func saveJoin(c *cli.Context, root string, report join.Report) error {
	if path := c.String("json"); path != "" {
		if err := bench.WriteJSON(path, report); err != nil {
			return err
		}
	}
	if !c.Bool("update") {
		return nil
	}
	if err := bench.WriteJSON(filepath.Join(root, joinFile), report); err != nil {
		return err
	}
	return bench.UpdateSection(filepath.Join(root, resultsFile), joinSection, report.Markdown())
}

// commandLine is the call as one would type it again.
func commandLine() string {
	return strings.Join(append([]string{"scripts/bench"}, os.Args[1:]...), " ")
}
