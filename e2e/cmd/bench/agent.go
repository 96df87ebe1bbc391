package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench/agent"
	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
)

const agentName = "agent"

func agentCommand() *cli.Command {
	return &cli.Command{
		Name:  agentName,
		Usage: "a real agent joins, gets bundles, and is measured at rest",
		Flags: commonFlags(agentName,
			&cli.IntSliceFlag{Name: "releases", Usage: "with how many releases memory is read; several with commas", Value: cli.NewIntSlice(0, 20, 100)},
			&cli.IntFlag{Name: "timed", Usage: "how many bundles are timed, one after the other", Value: 20},
			&cli.DurationFlag{Name: "rest", Usage: "how long requests are counted while nothing changes", Value: 2 * time.Minute},
		),
		Action: runAgent,
	}
}

func runAgent(c *cli.Context) error {
	if c.NArg() > 0 {
		return commandline.Refusal(c, fmt.Sprintf("%q is not expected: agent takes flags only; see scripts/bench agent --help", c.Args().First()))
	}
	sizes := slices.Clone(c.IntSlice("releases"))
	slices.Sort(sizes)
	if len(sizes) == 0 || sizes[0] < 0 || sizes[len(sizes)-1] < 1 || c.Int("timed") < 1 || c.Int("runs") < 1 || c.Duration("rest") < time.Second {
		return commandline.Refusal(c, "--timed, --runs and the largest of --releases are at least 1, --rest is at least a second; see scripts/bench agent --help")
	}
	place, err := prepare(c)
	if err != nil {
		return err
	}
	defer place.remove()
	report := agent.Report{Head: place.head()}
	for i := range c.Int("runs") {
		fmt.Printf("== an agent with %v releases, run %d of %d\n", sizes, i+1, c.Int("runs"))
		run, err := agent.Measure(c.Context, agent.Options{Hub: place.hub(c), Sizes: sizes, Timed: c.Int("timed"), Rest: c.Duration("rest")})
		if err != nil {
			return err
		}
		run.Print(os.Stdout)
		report.Runs = append(report.Runs, run)
	}
	return place.save(c, agentName, report)
}
