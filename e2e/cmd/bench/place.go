package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

// place is what a benchmark runs on.
type place struct {
	root string
	// program is the product: a copy, so that a build during the run does not mix two versions.
	program string
	machine bench.Machine
	// profiled says that the one profile of this call was taken.
	profiled bool

	folder string
}

// prepare builds what is missing and clears away what killed runs have left.
func prepare(c *cli.Context) (*place, error) {
	root, err := lab.FindRoot()
	if err != nil {
		return nil, err
	}
	program := c.String("fleet")
	if program == "" {
		if program, err = stage.BuildProduct(c.Context, root, os.Stderr); err != nil {
			return nil, err
		}
	}
	if _, err := lab.Build(c.Context, root, c.String("version"), os.Stderr); err != nil {
		return nil, err
	}
	if err := bench.ClearLeftovers(c.Context, root); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "fleet-bench-")
	if err != nil {
		return nil, fmt.Errorf("folder for the product: %w", err)
	}
	p := &place{root: root, program: filepath.Join(folder, "fleet"), folder: folder}
	if err = stage.CopyProgram(program, p.program); err == nil {
		p.machine, err = bench.ThisMachine(c.Context, root, p.program, c.String("version"))
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *place) remove() { _ = os.RemoveAll(p.folder) }
