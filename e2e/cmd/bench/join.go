package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/bench/join"
	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
)

// floodName is under what the figures of joins in a flood are kept, beside those of undisturbed ones.
const (
	joinName  = "join"
	floodName = "flood"
)

func joinCommand() *cli.Command {
	return &cli.Command{
		Name:  joinName,
		Usage: "synthetic agents go through the handshake with a new hub",
		Flags: commonFlags(joinName,
			&cli.IntSliceFlag{Name: "n", Usage: "how many agents; several with commas", Value: cli.NewIntSlice(50)},
			&cli.IntSliceFlag{Name: "rtt", Usage: "round trip between agents and hub in ms; several with commas", Value: cli.NewIntSlice(0)},
			&cli.Float64Flag{Name: "rate", Usage: "agents that start in a second", DefaultText: "all at once"},
			&cli.Float64SliceFlag{Name: "flood", Usage: "requests that nobody grants and that come in a second meanwhile, from another token of the workspace; several with commas", Value: cli.NewFloat64Slice(0)},
			&cli.IntFlag{Name: "singles", Usage: "joins one after the other in a run of -n 1", Value: 20},
			&cli.BoolFlag{Name: "trace", Usage: "show where the time goes, step by step"},
			&cli.StringFlag{Name: "cpuprofile", Usage: "write a processor profile of the first run's API server to this file"},
			&cli.DurationFlag{Name: "cpuprofile-for", Usage: "how long to profile, from the start of the joins", Value: 5 * time.Second},
		),
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
	report := join.Report{Head: place.head()}
	for _, n := range c.IntSlice("n") {
		for _, rtt := range c.IntSlice("rtt") {
			for _, flood := range c.Float64Slice("flood") {
				cell, err := joinCell(c, place, n, time.Duration(rtt)*time.Millisecond, flood)
				if err != nil {
					return err
				}
				report.Cells = append(report.Cells, cell)
			}
		}
	}
	if slices.Max(c.Float64Slice("flood")) > 0 {
		report.Title = "Joins in a flood of requests"
		return place.save(c, floodName, report)
	}
	return place.save(c, joinName, report)
}

// checkJoin refuses what would measure nothing.
func checkJoin(c *cli.Context) error {
	var wrong string
	switch {
	case c.NArg() > 0:
		wrong = fmt.Sprintf("%q is not expected: join takes flags only", c.Args().First())
	case c.Int("runs") < 1 || c.Int("singles") < 1:
		wrong = "--runs and --singles are at least 1"
	case c.Float64("rate") < 0 || slices.ContainsFunc(c.Float64Slice("flood"), func(rate float64) bool { return rate < 0 }):
		wrong = "--rate and --flood are not negative"
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

func joinCell(c *cli.Context, place *place, n int, rtt time.Duration, flood float64) (join.Cell, error) {
	var runs []join.Run
	for i := range c.Int("runs") {
		fmt.Printf("== %d agents, round trip %s, flood %g/s, run %d of %d\n", n, rtt, flood, i+1, c.Int("runs"))
		options := join.Options{Hub: place.hub(c), N: n, Rate: c.Float64("rate"), FloodRate: flood, Singles: c.Int("singles")}
		options.Hub.RTT = rtt
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
	return join.NewCell(n, rtt, c.Float64("rate"), flood, runs), nil
}
