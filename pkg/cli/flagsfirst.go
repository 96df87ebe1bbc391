package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

var helpFlags = []string{"--help", "-help", "-h", "--h"}

// flagsFirst moves the flags of a verb before its arguments: people type them in any order, and the library reads none
// after the first argument. What follows "--" are arguments.
func flagsFirst(commands []*cli.Command, args []string) []string {
	verb, _, depth := verbIn(commands, args)
	if verb == nil || verb.SkipFlagParsing {
		return args
	}
	flags, words := slices.Clone(args[:depth]), []string{}
	rest := args[depth:]
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		switch {
		case word == "--":
			words = append(words, rest[i:]...)
			i = len(rest)
		case slices.Contains(helpFlags, word): // the library would look for help on the arguments
			return append(slices.Clone(args[:depth]), word)
		case len(word) < 2 || word[0] != '-':
			words = append(words, word)
		default:
			flags = append(flags, word)
			if takesNext(verb, word) && i+1 < len(rest) {
				i++
				flags = append(flags, rest[i])
			}
		}
	}
	return append(flags, words...)
}

// verbIn is the command that args begin with after the program's name, its full name, and how many of them that are; nil
// where there is none to be run.
func verbIn(commands []*cli.Command, args []string) (verb *cli.Command, name string, depth int) {
	for depth = 1; depth < len(args); depth++ {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[depth]) })
		if at < 0 {
			return nil, "", 0
		}
		verb, name = commands[at], strings.TrimSpace(name+" "+commands[at].Name)
		if len(verb.Subcommands) == 0 {
			return verb, name, depth + 1
		}
		commands = verb.Subcommands
	}
	return nil, "", 0
}

// takesNext says whether a word is a flag whose value is the next word.
func takesNext(verb *cli.Command, word string) bool {
	name := strings.TrimLeft(word, "-")
	if strings.Contains(name, "=") {
		return false
	}
	flag := flagNamed(verb, name)
	if flag == nil {
		return false // the library says so
	}
	_, isBool := flag.(*cli.BoolFlag)
	return !isBool
}

func flagNamed(verb *cli.Command, name string) cli.Flag {
	for _, flag := range verb.Flags {
		if slices.Contains(flag.Names(), name) {
			return flag
		}
	}
	return nil
}
