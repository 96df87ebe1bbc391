package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/bench/fanout"
	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

const (
	fanoutFile    = "bench/fanout.json"
	fanoutSection = "fanout"
)

func fanoutCommand() *cli.Command {
	return &cli.Command{
		Name:  "fanout",
		Usage: "bundles reach registered clusters of a new hub, up to their deployments",
		Flags: []cli.Flag{
			&cli.IntSliceFlag{Name: "n", Usage: "how many clusters; several with commas", Value: cli.NewIntSlice(50)},
			&cli.IntFlag{Name: "b", Usage: "how many bundles", Value: 20},
			&cli.IntFlag{Name: "runs", Usage: "runs of each combination, each on a new hub", Value: 1},
			&cli.StringFlag{Name: "json", Usage: "write all figures to this file"},
			&cli.BoolFlag{Name: "update", Usage: "write the figures of this call to " + resultsFile + " and " + fanoutFile},
			&cli.StringFlag{Name: "fleet", Usage: "the product's binary", DefaultText: "built by scripts/build"},
			&cli.StringFlag{Name: "version", Usage: "Kubernetes line of the hub", Value: lab.DefaultVersion},
		},
		Action: runFanout,
	}
}

func runFanout(c *cli.Context) error {
	if c.NArg() > 0 {
		return commandline.Refusal(c, fmt.Sprintf("%q is not expected: fanout takes flags only; see scripts/bench fanout --help", c.Args().First()))
	}
	for _, n := range append([]int{c.Int("b"), c.Int("runs")}, c.IntSlice("n")...) {
		if n < 1 {
			return commandline.Refusal(c, "-n, -b and --runs are at least 1; see scripts/bench fanout --help")
		}
	}
	place, err := prepare(c)
	if err != nil {
		return err
	}
	defer place.remove()
	report := fanout.Report{Date: time.Now().UTC(), Command: commandLine(), Machine: place.machine}
	for _, n := range c.IntSlice("n") {
		cell, err := fanoutCell(c, place, n)
		if err != nil {
			return err
		}
		report.Cells = append(report.Cells, cell)
	}
	return saveFanout(c, place.root, report)
}

func fanoutCell(c *cli.Context, place *place, n int) (fanout.Cell, error) {
	var runs []fanout.Run
	for i := range c.Int("runs") {
		fmt.Printf("== %d bundles to %d clusters, run %d of %d\n", c.Int("b"), n, i+1, c.Int("runs"))
		run, err := fanout.Measure(c.Context, fanout.Options{
			Hub:      bench.HubOptions{Root: place.root, Version: c.String("version"), Program: place.program, Out: os.Stderr},
			Clusters: n, Bundles: c.Int("b"),
		})
		if err != nil {
			return fanout.Cell{}, err
		}
		run.Print(os.Stdout)
		runs = append(runs, run)
	}
	return fanout.NewCell(n, c.Int("b"), runs), nil
}

func saveFanout(c *cli.Context, root string, report fanout.Report) error {
	if path := c.String("json"); path != "" {
		if err := bench.WriteJSON(path, report); err != nil {
			return err
		}
	}
	if !c.Bool("update") {
		return nil
	}
	if err := bench.WriteJSON(filepath.Join(root, fanoutFile), report); err != nil {
		return err
	}
	return bench.UpdateSection(filepath.Join(root, resultsFile), fanoutSection, report.Markdown())
}
