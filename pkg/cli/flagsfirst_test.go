package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlagsMayStandBehindArguments(t *testing.T) {
	commands := newApp(&bytes.Buffer{}, &bytes.Buffer{}).Commands
	for line, want := range map[string]string{
		"fleet cluster explain edge-1 -n ws":                       "fleet cluster explain -n ws edge-1",
		"fleet cluster explain -n ws edge-1 -o json":               "fleet cluster explain -n ws -o json edge-1",
		"fleet cluster redeploy a --dry-run b --namespace=ws c":    "fleet cluster redeploy --dry-run --namespace=ws a b c",
		"fleet registration approve request-a -n ws --replace":     "fleet registration approve -n ws --replace request-a",
		"fleet cluster explain -- -n ws":                           "fleet cluster explain -- -n ws",
		"fleet cluster explain a -- -n":                            "fleet cluster explain a -- -n",
		"fleet cluster explain a --bogus b":                        "fleet cluster explain --bogus a b",
		"fleet cluster explain a -n":                               "fleet cluster explain -n a",
		"fleet cluster explain edge-1 -n ws --help":                "fleet cluster explain --help",
		"fleet cluster explain -- --help":                          "fleet cluster explain -- --help",
		"fleet cluster -h explain":                                 "fleet cluster -h explain",
		"fleet --version":                                          "fleet --version",
		"fleet bogus a -n ws":                                      "fleet bogus a -n ws",
		"fleet __complete -- cluster explain -n":                   "fleet __complete -- cluster explain -n",
		"fleet":                                                    "fleet",
		"fleet controller --namespace ns --debug --debug-level 3":  "fleet controller --namespace ns --debug --debug-level 3",
		"fleet token create a --client-id b --client-id c --ttl 0": "fleet token create --client-id b --client-id c --ttl 0 a",
	} {
		assert.Equal(t, want, strings.Join(flagsFirst(commands, strings.Fields(line)), " "), line)
	}
	assert.Empty(t, flagsFirst(commands, nil))
}
