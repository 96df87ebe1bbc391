// Command bench is behind scripts/bench: it measures the product on control planes of the lab.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// Exit codes beside 0 and 1.
const (
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newApp().RunContext(ctx, os.Args)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) // errors with a code of their own have ended the process already
	}
}

func newApp() *cli.App {
	app := &cli.App{
		Name:            "bench",
		HelpName:        "scripts/bench",
		Usage:           "measure the product on control planes of the lab",
		HideHelpCommand: true,
		Commands:        []*cli.Command{joinCommand()},
		Action:          noCommand,
		OnUsageError:    wrongUsage,
	}
	for _, command := range app.Commands {
		command.OnUsageError = wrongUsage
	}
	return app
}

// noCommand gets the calls that name no command of ours.
func noCommand(c *cli.Context) error {
	if c.NArg() == 0 {
		return cli.ShowAppHelp(c)
	}
	var known []string
	for _, command := range c.App.VisibleCommands() {
		known = append(known, command.Name)
	}
	return cli.Exit(fmt.Sprintf("bench: no command %q: there are %s", c.Args().First(), strings.Join(known, ", ")), exitUsage)
}

func wrongUsage(c *cli.Context, err error, _ bool) error {
	command := "scripts/bench"
	if c.Command != nil && c.Command.Name != c.App.Name {
		command += " " + c.Command.Name
	}
	return cli.Exit(fmt.Sprintf("bench: %v; see %s --help", err, command), exitUsage)
}
