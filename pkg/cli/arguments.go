package cli

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"
)

// strict makes commands refuse what they do not know: the library shows the help for a word that is no command, and calls
// that a success. A command that takes arguments says so in its ArgsUsage, and is left to check them.
func strict(commands []*cli.Command) {
	for _, command := range commands {
		command.OnUsageError = mistyped
		switch {
		case len(command.Subcommands) > 0:
			command.Action = needsCommand
			strict(command.Subcommands)
		case command.ArgsUsage == "":
			command.ArgsUsage = " " // or the help would show some
			command.Action = withoutArguments(command.Action)
		}
	}
}

func mistyped(_ *cli.Context, err error, _ bool) error { return &usage{err} }

// needsCommand runs where no command was recognised.
func needsCommand(c *cli.Context) error {
	if word := c.Args().First(); word != "" {
		return usagef("there is no command %.64q; %s knows %s", word, c.Command.HelpName, known(c.Command.Subcommands))
	}
	return cli.ShowSubcommandHelp(c)
}

// known names commands.
func known(commands []*cli.Command) string {
	var names []string
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return strings.Join(names, ", ")
}

func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return usagef("%s takes no argument, and %.64q is one; see %s --help", c.Command.HelpName, c.Args().First(), c.Command.HelpName)
		}
		return action(c)
	}
}

// exitCode says what an error means to whoever started the program.
func exitCode(err error) int {
	var mistake *usage
	var library cli.ExitCoder // which asks for help on a command that does not exist
	if errors.As(err, &mistake) || errors.As(err, &library) {
		return usageError
	}
	return 1
}
