package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Scripts that were written for other versions give flags before the command.
func TestFlagsMayStandBeforeTheCommand(t *testing.T) {
	commands := newApp(&bytes.Buffer{}, &bytes.Buffer{}).Commands
	for line, want := range map[string]string{
		"fleet -n ws target -b x":                         "fleet target -n ws -b x",
		"fleet --kubeconfig k --debug target -b x":        "fleet target --kubeconfig k --debug -b x",
		"fleet --kubeconfig=k --context=c bundle list -A": "fleet bundle list --kubeconfig=k --context=c -A",
		"fleet --debug-level 3 deploy -i x":               "fleet deploy --debug-level 3 -i x",
		"fleet target -n ws":                              "fleet target -n ws",
		"fleet --version":                                 "fleet --version",
		"fleet -n ws bogus":                               "fleet -n ws bogus",
		"fleet -n":                                        "fleet -n",
		"fleet":                                           "fleet",
	} {
		assert.Equal(t, want, strings.Join(globalsBehind(commands, strings.Fields(line)), " "), line)
	}
	code, _, errOut := typed("-n", "ws", "version")
	assert.Equal(t, usageError, code, "a verb that has no such flag refuses it")
	assert.Contains(t, errOut, "-n")
	code, _, errOut = typed("--debug", "-n", "ws", "target")
	assert.Equal(t, usageError, code)
	assert.Contains(t, errOut, "needs --bundle-file")
}
