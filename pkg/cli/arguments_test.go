package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// typed runs what a person types.
func typed(words ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"fleet"}, words...), &o, &e)
	return code, o.String(), e.String()
}

func TestWhatNoCommandIsIsRefused(t *testing.T) {
	for line, says := range map[string]string{
		"bogus":                   `there is no command "bogus"; fleet knows controller, agent, cluster, version`,
		"bogus --debug":           `there is no command "bogus"`,
		"clusters list":           `there is no command "clusters"`,
		"help bogus":              "bogus",
		"cluster bogus":           `there is no command "bogus"; fleet cluster knows list`,
		"cluster lists -A":        `there is no command "lists"`,
		"cluster help bogus":      "bogus",
		"version bogus":           `fleet version takes no argument, and "bogus" is one`,
		"cluster list bogus":      `fleet cluster list takes no argument, and "bogus" is one`,
		"cluster list -n a b":     `"b" is one`,
		"controller bogus":        `fleet controller takes no argument`,
		"agent bogus":             `fleet agent takes no argument`,
		"--bogus":                 "bogus",
		"cluster --bogus":         "bogus",
		"cluster list --bogus":    "bogus",
		"version --bogus":         "bogus",
		"controller --debug=what": "debug",
		"controller":              "--namespace",
		"agent":                   "--namespace",
	} {
		t.Run(line, func(t *testing.T) {
			t.Setenv(envNamespace, "")
			code, out, errOut := typed(strings.Fields(line)...)

			assert.Equal(t, usageError, code)
			assert.Empty(t, out, "who asked for nothing that there is gets no page of help")
			assert.Contains(t, errOut, says)
			assert.Equal(t, 1, strings.Count(errOut, "\n"), "one line: %s", errOut)
		})
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	for line, says := range map[string]string{
		"":                    "controller",
		"help":                "controller",
		"--help":              "controller",
		"help cluster":        "fleet cluster",
		"cluster":             "list",
		"cluster help":        "list",
		"cluster --help":      "list",
		"cluster list --help": "--kubeconfig",
		"cluster help list":   "--kubeconfig",
		"agent --help":        "--checkin-interval",
		"--version":           "fleet version",
		"version":             "fleet version",
	} {
		t.Run(line, func(t *testing.T) {
			code, out, errOut := typed(strings.Fields(line)...)

			assert.Zero(t, code)
			assert.Contains(t, out, says)
			assert.Empty(t, errOut)
		})
	}
}

func TestAProgramsNameIsARole(t *testing.T) {
	for name, says := range map[string]string{
		"/usr/bin/fleetcontroller": "fleet controller takes no argument",
		"fleetagent":               "fleet agent takes no argument",
	} {
		var out, errOut bytes.Buffer
		assert.Equal(t, usageError, run(context.Background(), []string{name, "bogus"}, &out, &errOut))
		assert.Contains(t, errOut.String(), says)
	}
	var out, errOut bytes.Buffer
	assert.Zero(t, run(context.Background(), nil, &out, &errOut), "nobody gave even a name")
	assert.Contains(t, out.String(), "controller")
}
