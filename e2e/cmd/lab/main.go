// Command lab is behind scripts/lab: it starts and ends control planes on this machine.
package main

import (
	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

func main() { commandline.Run(newApp()) }

func newApp() *cli.App {
	return commandline.Refusing(&cli.App{
		Name:     "lab",
		HelpName: "scripts/lab",
		Usage:    "real Kubernetes control planes and nodes on this machine",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "the repository's root", DefaultText: "found from the working directory"},
			&cli.StringFlag{Name: "state-dir", Usage: "folder of the control planes' state", DefaultText: "<root>/.lab"},
		},
		Commands: []*cli.Command{upCommand(), loadCommand(), downCommand(), statusCommand(), buildCommand(), runPodsCommand()},
	})
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
