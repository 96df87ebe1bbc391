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
		"bogus":                                            `there is no command "bogus"; fleet knows controller, agent, cluster, token, registration, bundle, target, deploy, completion, version`,
		"bogus --debug":                                    `there is no command "bogus"`,
		"clusters list":                                    `there is no command "clusters"`,
		"help bogus":                                       "bogus",
		"cluster bogus":                                    `there is no command "bogus"; fleet cluster knows list`,
		"cluster lists -A":                                 `there is no command "lists"`,
		"cluster help bogus":                               "bogus",
		"version bogus":                                    `fleet version takes no argument, and "bogus" is one`,
		"cluster list bogus":                               `fleet cluster list takes no argument, and "bogus" is one`,
		"cluster list -n a b":                              `"b" is one`,
		"cluster list -o table b":                          `"b" is one`,
		"cluster list -o what":                             `--output is "what"`,
		"cluster explain":                                  `fleet cluster explain needs the NAME of one cluster`,
		"cluster explain a b":                              `"b" is one too many`,
		"cluster explain A_b":                              `the name "A_b" cannot be`,
		"cluster explain a/b/c":                            `cannot be`,
		"cluster explain A/b":                              `no name of a workspace`,
		"cluster explain a/b -n c":                         `another workspace than -n c`,
		"cluster explain b -n C":                           `-n "C" is no name of a workspace`,
		"cluster redeploy":                                 `needs the NAME of each cluster, or --all`,
		"cluster redeploy a --all":                         `give names or --all`,
		"cluster redeploy -A a":                            `-A goes with --all`,
		"token create":                                     `needs the NAME of the new token`,
		"token create a --ttl x":                           `--ttl is "x"`,
		"token create a --ttl -1h":                         `--ttl is "-1h"`,
		"token create a --max-uses -1":                     `--max-uses is -1`,
		"token create a --max-uses 1001":                   `--max-uses is 1001`,
		"token create a --cluster-name B":                  `--cluster-name "B" cannot be`,
		"token create a --allowed-label -":                 `no key of a label`,
		"token create a --allowed-label fleet.cattle.io/x": `this key is the hub's`,
		"token values":                                     `needs the NAME of one token`,
		"token delete":                                     `needs the NAME of each token`,
		"registration approve":                             `needs the NAME of one request`,
		"registration deny a b":                            `"b" is one too many`,
		"registration approve a --reason \x1b":             `--reason must be one line`,
		"completion":                                       `needs the name of a shell`,
		"completion tcsh":                                  `there is no completion for "tcsh"`,
		"controller bogus":                                 `fleet controller takes no argument`,
		"agent bogus":                                      `fleet agent takes no argument`,
		"--bogus":                                          "bogus",
		"cluster --bogus":                                  "bogus",
		"cluster list --bogus":                             "bogus",
		"version --bogus":                                  "bogus",
		"controller --debug=what":                          "debug",
		"controller":                                       "--namespace",
		"agent":                                            "--namespace",
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
		"":                          "controller",
		"help":                      "controller",
		"--help":                    "controller",
		"help cluster":              "fleet cluster",
		"cluster":                   "list",
		"cluster help":              "list",
		"cluster --help":            "list",
		"cluster list --help":       "--kubeconfig",
		"cluster help list":         "--kubeconfig",
		"agent --help":              "--checkin-interval",
		"cluster explain a -n b -h": "--system-namespace",
		"--version":                 "fleet version",
		"version":                   "fleet version",
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
