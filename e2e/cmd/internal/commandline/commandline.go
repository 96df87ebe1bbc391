// Package commandline is how the commands of scripts/ that have subcommands are called: a call that cannot work is refused
// with exit code 2 before anything is made, an interruption ends with 130, every other error with 1, and each message says
// whose it is.
//
// It imports the standard library and urfave/cli only.
package commandline

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"
)

// Exit codes beside 0 and 1.
const (
	// exitUsage is for calls that cannot work, also for what the interface promises and this version does not have.
	exitUsage = 2
	// exitInterrupted is what shells expect after a Ctrl-C.
	exitInterrupted = 130
)

// Run runs an app with the words that the process was called with, and ends the process with a code of its own unless all
// went well. The app's context ends at the first SIGINT or SIGTERM.
func Run(app *cli.App) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := app.RunContext(ctx, os.Args)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
	case interrupted:
		fmt.Fprintln(os.Stderr, app.Name+": interrupted")
		os.Exit(exitInterrupted)
	default:
		fmt.Fprintf(os.Stderr, "%s: %v\n", app.Name, err)
		os.Exit(1) // errors with a code of their own have ended the process already
	}
}

// Refusing makes an app refuse the commands and flags that it does not have. The app's HelpName is what people type.
func Refusing(app *cli.App) *cli.App {
	app.HideHelpCommand = true
	app.Action = refuseUnknown
	app.OnUsageError = refuseFlags
	for _, command := range app.Commands {
		command.OnUsageError = refuseFlags
	}
	return app
}

// Refusal is the error of a call that cannot work.
func Refusal(c *cli.Context, why string) error {
	return cli.Exit(c.App.Name+": "+why, exitUsage)
}

// WithoutArguments refuses what a command would silently ignore.
func WithoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() > 0 {
			return Refusal(c, fmt.Sprintf("%s takes no arguments, and %q is one", c.Command.Name, c.Args().First()))
		}
		return action(c)
	}
}

// refuseUnknown gets the calls that name no command of the app.
func refuseUnknown(c *cli.Context) error {
	if c.NArg() == 0 {
		return cli.ShowAppHelp(c)
	}
	var known []string
	for _, command := range c.App.VisibleCommands() {
		known = append(known, command.Name)
	}
	return Refusal(c, fmt.Sprintf("no command %q: there are %s", c.Args().First(), strings.Join(known, ", ")))
}

func refuseFlags(c *cli.Context, err error, _ bool) error {
	typed := c.App.HelpName
	if c.Command != nil && c.Command.Name != c.App.Name { // the app itself is a command of its own name
		typed += " " + c.Command.Name
	}
	return Refusal(c, fmt.Sprintf("%v; see %s --help", err, typed))
}
