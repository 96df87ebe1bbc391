package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// completionScripts tell a shell to ask the program for what may come next. The words are handed over as they are, the
// last one as far as it is typed; nothing that was typed is run. After "--" so that no word is taken for a flag.
var completionScripts = map[string]string{
	"bash": `# bash completion of fleet: source <(fleet completion bash)
_fleet() {
    local cur=${COMP_WORDS[COMP_CWORD]} line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <("${COMP_WORDS[0]}" __complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" 2>/dev/null)
}
complete -o default -F _fleet fleet
`,
	"zsh": `#compdef fleet
# zsh completion of fleet: source <(fleet completion zsh), or as file _fleet in a folder of fpath
_fleet() {
    local -a found
    found=("${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ${#found} )); then
        compadd -- "${found[@]}"
    else
        _files
    fi
}
if [ "${funcstack[1]}" = "_fleet" ]; then
    _fleet "$@"
else
    compdef _fleet fleet
fi
`,
	"fish": `# fish completion of fleet: fleet completion fish | source
function __fleet_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c fleet -f -a '(__fleet_complete)'
complete -c fleet -n 'contains -- (commandline -opc)[-1] --kubeconfig --bundle-file -b --input-file -i' -F
`,
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a script that teaches a shell to complete fleet's commands, flags and names",
		ArgsUsage: "bash|zsh|fish",
		Description: "Names of clusters, tokens, requests and bundles are asked from the hub, for at most two seconds.\n\n" +
			"   source <(fleet completion bash)      # in ~/.bashrc\n" +
			"   source <(fleet completion zsh)       # in ~/.zshrc, after compinit\n" +
			"   fleet completion fish | source       # in config.fish",
		Action: func(c *cli.Context) error {
			known := slices.Sorted(maps.Keys(completionScripts))
			if err := checkArguments(c, 1, 1, "the name of a shell: bash, fish or zsh"); err != nil {
				return err
			}
			script, ok := completionScripts[c.Args().First()]
			if !ok {
				return usagef("there is no completion for %.32q, but for %s", c.Args().First(), strings.Join(known, ", "))
			}
			_, err := fmt.Fprint(c.App.Writer, script)
			return err
		},
	}
}
