package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/lab"
)

// resultsFile is where the figures are kept for people, below the root of the repository; those of a benchmark for
// programs are beside it.
const resultsFile = "bench/RESULTS.md"

func figuresFile(benchmark string) string { return "bench/" + benchmark + ".json" }

// commonFlags are those that every benchmark has.
func commonFlags(benchmark string, own ...cli.Flag) []cli.Flag {
	return append(own,
		&cli.IntFlag{Name: "runs", Usage: "runs of each combination, each on a new hub", Value: 1},
		&cli.StringFlag{Name: "json", Usage: "write all figures to this file"},
		&cli.BoolFlag{Name: "update", Usage: "write the figures of this call to " + resultsFile + " and " + figuresFile(benchmark)},
		&cli.StringFlag{Name: "fleet", Usage: "the product's binary", DefaultText: "built by scripts/build"},
		&cli.StringFlag{Name: "version", Usage: "Kubernetes line of the hub", Value: lab.DefaultVersion},
	)
}

// head is what the report of this call begins with.
func (p *place) head() bench.Head {
	return bench.Head{Date: time.Now().UTC(), Command: commandLine(), Machine: p.machine}
}

// hub is what every run of this call measures on.
func (p *place) hub(c *cli.Context) bench.HubOptions {
	return bench.HubOptions{Root: p.root, Version: c.String("version"), Program: p.program, Out: os.Stderr}
}

// save writes a report where the flags say.
func (p *place) save(c *cli.Context, benchmark string, report interface{ Markdown() string }) error {
	if path := c.String("json"); path != "" {
		if err := bench.WriteJSON(path, report); err != nil {
			return err
		}
	}
	if !c.Bool("update") {
		return nil
	}
	if err := bench.WriteJSON(filepath.Join(p.root, figuresFile(benchmark)), report); err != nil {
		return err
	}
	return bench.UpdateSection(filepath.Join(p.root, resultsFile), benchmark, report.Markdown())
}

// commandLine is the call as one would type it again.
func commandLine() string {
	return strings.Join(append([]string{"scripts/bench"}, os.Args[1:]...), " ")
}
