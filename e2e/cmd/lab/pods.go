package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/node"
)

// podRunner is the command line of this program as a stand-in for a node; nil if none is wanted.
func podRunner(c *cli.Context, root string) ([]string, error) {
	if !c.Bool("processes") {
		return nil, nil
	}
	product := filepath.Join(root, "bin", "fleet")
	if _, err := os.Stat(product); err != nil {
		return nil, fmt.Errorf("the product, which agents run, is not built, run scripts/build first: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	return []string{self, node.CommandName, product}, nil
}

// runPodsCommand is what a control plane starts, not people.
func runPodsCommand() *cli.Command {
	return &cli.Command{
		Name:      node.CommandName,
		Usage:     "stand in for a node of a control plane",
		ArgsUsage: "PRODUCT DIR KUBECONFIG",
		Hidden:    true,
		Action: func(c *cli.Context) error {
			if c.NArg() != 3 {
				return commandline.Refusal(c, node.CommandName+" needs the product, the control plane's folder and a kubeconfig")
			}
			return node.Command(c.Context, c.Args().Get(0), c.Args().Get(1), c.Args().Get(2), func(format string, args ...any) {
				fmt.Fprintf(c.App.ErrWriter, format+"\n", args...)
			})
		},
	}
}
