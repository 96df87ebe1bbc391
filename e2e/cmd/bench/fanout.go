package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench/fanout"
	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
)

const fanoutName = "fanout"

func fanoutCommand() *cli.Command {
	return &cli.Command{
		Name:  fanoutName,
		Usage: "bundles reach registered clusters of a new hub, up to their deployments",
		Flags: commonFlags(fanoutName,
			&cli.IntSliceFlag{Name: "n", Usage: "how many clusters; several with commas", Value: cli.NewIntSlice(50)},
			&cli.IntFlag{Name: "b", Usage: "how many bundles", Value: 20},
		),
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
	report := fanout.Report{Head: place.head()}
	for _, n := range c.IntSlice("n") {
		cell, err := fanoutCell(c, place, n)
		if err != nil {
			return err
		}
		report.Cells = append(report.Cells, cell)
	}
	return place.save(c, fanoutName, report)
}

func fanoutCell(c *cli.Context, place *place, n int) (fanout.Cell, error) {
	var runs []fanout.Run
	for i := range c.Int("runs") {
		fmt.Printf("== %d bundles to %d clusters, run %d of %d\n", c.Int("b"), n, i+1, c.Int("runs"))
		run, err := fanout.Measure(c.Context, fanout.Options{Hub: place.hub(c), Clusters: n, Bundles: c.Int("b")})
		if err != nil {
			return fanout.Cell{}, err
		}
		run.Print(os.Stdout)
		runs = append(runs, run)
	}
	return fanout.NewCell(n, c.Int("b"), runs), nil
}
