// Command lab is behind scripts/lab: it starts and ends control planes on this machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newApp().RunContext(ctx, os.Args)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "lab: interrupted")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1) // errors with a code of their own have ended the process already
	}
}

// Exit codes beside 0 and 1.
const (
	// exitUsage is for calls that cannot work, also for what the interface promises and this version does not have.
	exitUsage = 2
	// exitInterrupted is what shells expect after a Ctrl-C.
	exitInterrupted = 130
)

func newApp() *cli.App {
	app := &cli.App{
		Name:            "lab",
		HelpName:        "scripts/lab",
		Usage:           "real Kubernetes control planes on this machine",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "the repository's root", DefaultText: "found from the working directory"},
			&cli.StringFlag{Name: "state-dir", Usage: "folder of the control planes' state", DefaultText: "<root>/.lab"},
		},
		Commands:     []*cli.Command{upCommand(), downCommand(), statusCommand(), buildCommand()},
		Action:       noCommand,
		OnUsageError: wrongUsage,
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
	return cli.Exit(fmt.Sprintf("lab: no command %q: there are %s", c.Args().First(), strings.Join(known, ", ")), exitUsage)
}

func wrongUsage(c *cli.Context, err error, _ bool) error {
	return cli.Exit(fmt.Sprintf("lab: %v; see %s --help", err, strings.TrimSpace("scripts/lab "+commandName(c))), exitUsage)
}

// commandName is empty for the app itself.
func commandName(c *cli.Context) string {
	if c.Command == nil || c.Command.Name == c.App.Name {
		return ""
	}
	return c.Command.Name
}

// withoutArguments refuses what a command would silently ignore.
func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() > 0 {
			return cli.Exit(fmt.Sprintf("lab: %s takes no arguments, and %q is one", c.Command.Name, c.Args().First()), exitUsage)
		}
		return action(c)
	}
}

// place says where the repository and the state are.
func place(c *cli.Context) (root, stateDir string, err error) {
	if root = c.String("root"); root == "" {
		if root, err = lab.FindRoot(); err != nil {
			return "", "", err
		}
	}
	if stateDir = c.String("state-dir"); stateDir == "" {
		stateDir = lab.DefaultStateDir(root)
	}
	return root, stateDir, nil
}
