package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

func downCommand() *cli.Command {
	return &cli.Command{
		Name:      "down",
		Usage:     "end control planes and delete their state; without names all that scripts/lab started",
		ArgsUsage: "[NAME...]",
		Action:    down,
	}
}

func down(c *cli.Context) error {
	_, stateDir, err := place(c)
	if err != nil {
		return err
	}
	if c.NArg() == 0 {
		ended, err := lab.DownAll(c.Context, stateDir)
		for _, name := range ended {
			fmt.Fprintln(c.App.Writer, name+": ended and removed")
		}
		return errors.Join(err, tellWhatStays(c.App.Writer, stateDir))
	}
	var problems []error
	for _, name := range c.Args().Slice() {
		if err := lab.Down(c.Context, stateDir, name); err != nil {
			problems = append(problems, err)
			continue
		}
		fmt.Fprintln(c.App.Writer, name+": ended and removed")
	}
	return errors.Join(problems...)
}

// tellWhatStays names a demo's control planes, which people may have expected to end.
func tellWhatStays(out io.Writer, stateDir string) error {
	planes, err := lab.List(stateDir)
	if err != nil {
		return err
	}
	for _, plane := range planes {
		if plane.StartedBy == lab.ByDemo {
			fmt.Fprintf(out, "%s: runs on, it belongs to a demo; one that was kept is ended by scripts/demo --down\n", plane.Name)
		}
	}
	return nil
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:   "status",
		Usage:  "show the control planes of this checkout",
		Action: commandline.WithoutArguments(status),
	}
}

func status(c *cli.Context) error {
	_, stateDir, err := place(c)
	if err != nil {
		return err
	}
	planes, err := lab.List(stateDir)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKUBERNETES\tURL\tSTATE\tSTARTED BY")
	for _, plane := range planes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", plane.Name, plane.Version, plane.URL, describe(plane), plane.StartedBy)
	}
	return table.Flush()
}

func describe(plane lab.Status) string {
	switch {
	case plane.Healthy():
		return "running"
	case len(plane.Running) == 0:
		return "stopped"
	default:
		return "only " + strings.Join(plane.Running, " and ") + " running"
	}
}
