// Command lab is behind scripts/lab: it starts and ends control planes on this machine.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newApp().RunContext(ctx, os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		stop()
		os.Exit(1) // errors with a code of their own have ended the process already
	}
}

func newApp() *cli.App {
	return &cli.App{
		Name:            "lab",
		HelpName:        "scripts/lab",
		Usage:           "real Kubernetes control planes on this machine",
		HideHelpCommand: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "the repository's root", DefaultText: "found from the working directory"},
			&cli.StringFlag{Name: "state-dir", Usage: "folder of the control planes' state", DefaultText: "<root>/.lab"},
		},
		Commands: []*cli.Command{upCommand(), downCommand(), statusCommand(), buildCommand()},
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
