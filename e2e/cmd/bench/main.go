// Command bench is behind scripts/bench: it measures the product on control planes of the lab.
package main

import (
	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
)

func main() { commandline.Run(newApp()) }

func newApp() *cli.App {
	return commandline.Refusing(&cli.App{
		Name:     "bench",
		HelpName: "scripts/bench",
		Usage:    "measure the product on control planes of the lab",
		Commands: []*cli.Command{joinCommand(), fanoutCommand(), agentCommand()},
	})
}
