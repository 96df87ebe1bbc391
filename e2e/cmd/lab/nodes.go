package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/rancher/fleet/e2e/cmd/internal/commandline"
	"github.com/rancher/fleet/e2e/lab"
)

// productTag is the tag of the product's images in nodes. It is the charts' own, and what scripts/build calls a build.
const productTag = "dev"

// countNodes reads --nodes[=N].
func countNodes(c *cli.Context) (int, error) {
	if !c.IsSet("nodes") {
		return 0, nil
	}
	if c.Bool("processes") {
		return 0, errors.New("--nodes and --processes: only one of them can look after the Pods")
	}
	value := fmt.Sprint(c.Generic("nodes"))
	if value == "true" { // without a value
		return 1, nil
	}
	count, err := strconv.Atoi(value)
	if err != nil || count < 1 || count > lab.MaxNodes {
		return 0, fmt.Errorf("--nodes=%q: not a number of nodes from 1 to %d", value, lab.MaxNodes)
	}
	return count, nil
}

// loadProduct gives all nodes the product's images, if it was built.
func loadProduct(ctx context.Context, root string, planes []*lab.ControlPlane) error {
	program := filepath.Join(root, "bin", "fleet")
	if _, err := os.Stat(program); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "lab: the product is not built, so the nodes have no image of it: scripts/build, and scripts/lab up once more")
		return nil
	}
	archive, err := lab.ProductImage(ctx, root, program, productTag, os.Stderr)
	if err != nil {
		return err
	}
	return load(ctx, planes, archive)
}

func load(ctx context.Context, planes []*lab.ControlPlane, archive string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, plane := range planes {
		group.Go(func() error { return plane.LoadImages(ctx, archive) })
	}
	return group.Wait()
}

func loadCommand() *cli.Command {
	return &cli.Command{
		Name:      "load",
		Usage:     "load the images in an archive (docker save, or scripts/package) into all nodes of control planes",
		ArgsUsage: "NAME... FILE",
		Action: func(c *cli.Context) error {
			if c.NArg() < 2 {
				return commandline.Refusal(c, "load needs names of control planes and the archive's file, for example: scripts/lab load hub image.tar")
			}
			_, stateDir, err := place(c)
			if err != nil {
				return err
			}
			last := c.NArg() - 1
			var planes []*lab.ControlPlane
			for _, name := range c.Args().Slice()[:last] {
				plane, err := lab.Open(filepath.Join(stateDir, name))
				if err != nil {
					return err
				}
				planes = append(planes, plane)
			}
			return load(c.Context, planes, c.Args().Get(last))
		},
	}
}
