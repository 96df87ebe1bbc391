// Command demo shows the main job end to end: a hub and two downstream clusters on real control planes, joined in all
// three ways. scripts/demo builds and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rancher/fleet/e2e/lab"
)

// limit bounds the whole run once the lab is built; it is many times what a run takes.
const limit = 10 * time.Minute

func main() {
	keep := flag.Bool("keep", false, "leave everything running and say how to look around")
	version := flag.String("version", lab.DefaultVersion, "Kubernetes line of the clusters")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: %q is not expected; see --help\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *version, *keep)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version string, keep bool) (err error) {
	root, err := lab.FindRoot()
	if err != nil {
		return err
	}
	if _, err := lab.Build(ctx, root, version, os.Stdout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := &demo{root: root, version: version, keep: keep, start: time.Now()}
	defer func() {
		if keep && err == nil {
			d.lookAround()
			return
		}
		err = errors.Join(err, d.cleanUp())
	}()
	if err := d.play(ctx); err != nil {
		d.showLogs()
		return err
	}
	return nil
}
