// Command fleet is the hub's controller, the agent of a downstream cluster, and the tool that people type. The image has
// it under the names fleetcontroller and fleetagent too, which choose the role.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rancher/fleet/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Main(ctx, os.Args)
	stop()
	os.Exit(code)
}
