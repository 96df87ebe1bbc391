// Package cli is the fleet command: the two roles that run in clusters, and the verbs that people type. It parses and
// checks flags and environment, and hands them on; nothing else of the project reads either. It may import everything.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"github.com/rancher/fleet/pkg/version"
)

// Names under which the program takes a role without being told by its first argument.
const (
	nameController = "fleetcontroller"
	nameAgent      = "fleetagent"
)

// usageError is what a user can mend by typing something else.
const usageError = 2

// Main runs the command and returns the exit code: 0 for success and for a clean stop, 2 for what was typed wrong, 1 for
// all else.
func Main(ctx context.Context, args []string) int {
	return run(ctx, args, os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	app := newApp(out, errOut)
	err := app.RunContext(ctx, flagsFirst(app.Commands, globalsBehind(app.Commands, withRole(args))))
	if err == nil {
		return 0
	}
	printError(errOut, os.Getenv, err)
	return exitCode(err)
}

// usage marks an error of what was typed.
type usage struct{ err error }

func (u *usage) Error() string { return u.err.Error() }
func (u *usage) Unwrap() error { return u.err }

func usagef(format string, args ...any) error { return &usage{fmt.Errorf(format, args...)} }

// withRole inserts the role that the program's name stands for.
func withRole(args []string) []string {
	if len(args) == 0 {
		return []string{"fleet"}
	}
	roles := map[string]string{nameController: "controller", nameAgent: "agent"}
	role, ok := roles[filepath.Base(args[0])]
	if !ok {
		return args
	}
	return append([]string{"fleet", role}, args[1:]...)
}

func newApp(out, errOut io.Writer) *cli.App {
	app := &cli.App{
		Name:           "fleet",
		HelpName:       "fleet",
		Usage:          "register clusters with a hub and keep them managed",
		Version:        fmt.Sprintf("%s (%s)", version.Version, version.Commit),
		Writer:         out,
		ErrWriter:      errOut,
		ExitErrHandler: func(*cli.Context, error) {},
		OnUsageError:   mistyped,
		Action:         needsCommand,
		// A flag that is given several times has no list in one word: client IDs may have commas.
		DisableSliceFlagSeparator: true,
		Commands: []*cli.Command{
			controllerCommand(),
			agentCommand(),
			clusterCommand(),
			tokenCommand(),
			registrationCommand(),
			bundleCommand(),
			targetCommand(),
			deployCommand(),
			completionCommand(),
			completeCommand(),
			versionCommand(),
		},
	}
	strict(app.Commands)
	return app
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			_, err := fmt.Fprintf(c.App.Writer, "fleet version %s (%s)\n", version.Version, version.Commit)
			return err
		},
	}
}

// debugFlags are those of both roles.
func debugFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "debug", Usage: "log more"},
		&cli.IntFlag{Name: "debug-level", Usage: "how much more, from 0 to 9"},
	}
}

func setDebug(c *cli.Context) {
	if c.Bool("debug") {
		logrus.SetLevel(logrus.DebugLevel)
	}
	if c.Int("debug-level") > 5 {
		logrus.SetLevel(logrus.TraceLevel)
	}
}
