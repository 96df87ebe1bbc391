package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/e2e/bench"
	"github.com/rancher/fleet/e2e/lab"
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
		if err := buildProduct(c, root); err != nil {
			return nil, err
		}
		program = filepath.Join(root, "bin", "fleet")
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
	if err = copyProgram(program, p.program); err == nil {
		p.machine, err = bench.ThisMachine(c.Context, root, p.program, c.String("version"))
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, nil
}

func (p *place) remove() { _ = os.RemoveAll(p.folder) }

func copyProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the product: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy of the product: %w", err)
	}
	if _, err := io.Copy(target, source); err != nil {
		target.Close()
		return fmt.Errorf("copy of the product: %w", err)
	}
	return target.Close()
}

// buildProduct runs scripts/build; an interruption ends all of it.
func buildProduct(c *cli.Context, root string) error {
	build := exec.CommandContext(c.Context, filepath.Join(root, "scripts", "build"))
	build.Dir, build.Stdout, build.Stderr = root, os.Stderr, os.Stderr
	build.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	build.Cancel = func() error { return syscall.Kill(-build.Process.Pid, syscall.SIGTERM) }
	build.WaitDelay = 10 * time.Second
	if err := build.Run(); err != nil {
		return fmt.Errorf("scripts/build: %w", err)
	}
	return nil
}
