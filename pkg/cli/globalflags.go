package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// globalFlags are those that scripts written for other versions give before the command; the verbs have them.
var globalFlags = map[string]bool{flagKubeconfig: true, flagContext: true, flagNamespace: true, "n": true, "debug": false, "debug-level": true}

// globalsBehind moves flags that stand before the command behind it. One that the verb does not have is not moved, and
// refused by name.
func globalsBehind(commands []*cli.Command, args []string) []string {
	var moved []string
	i := 1
	for ; i < len(args) && len(args[i]) > 1 && args[i][0] == '-'; i++ {
		name, _, whole := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		value, known := globalFlags[name]
		if !known {
			return args
		}
		moved = append(moved, args[i])
		if value && !whole && i+1 < len(args) {
			i++
			moved = append(moved, args[i])
		}
	}
	if len(moved) == 0 {
		return args
	}
	rest := append([]string{args[0]}, args[i:]...)
	verb, _, depth := verbIn(commands, rest)
	if verb == nil || verb.SkipFlagParsing {
		return args
	}
	return slices.Concat(rest[:depth], moved, rest[depth:])
}
