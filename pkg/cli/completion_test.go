package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/explain"
)

// envActAsFleet makes the test's own binary the program, for shells to call.
const envActAsFleet = "FLEET_TEST_ACT_AS_FLEET"

func TestMain(m *testing.M) {
	if os.Getenv(envActAsFleet) != "" {
		os.Exit(Main(context.Background(), append([]string{"fleet"}, os.Args[1:]...)))
	}
	os.Exit(m.Run())
}

// programOnPath puts a program fleet into a folder of its own and returns a PATH with that first.
func programOnPath(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %q \"$@\"\n", envActAsFleet, self)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "fleet"), []byte(script), 0o755))
	return folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// inShell runs a script in a shell, in which program fleet is found.
func inShell(t *testing.T, shell string, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("no %s on this machine: its completion is only checked for what the program answers", shell)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "PATH="+programOnPath(t))
	var errOut bytes.Buffer
	command.Stderr = &errOut
	out, err := command.Output()
	require.NoError(t, err, "%s", errOut.String())
	return string(out)
}

// completedBy is what bash offers for the last of the words, which are handed over as bash breaks them.
func completedBy(t *testing.T, words ...string) []string {
	t.Helper()
	script := `source <(fleet completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fleet; printf '%s\n' "${COMPREPLY[@]}"`
	return strings.Fields(inShell(t, "bash", append([]string{"--norc", "--noprofile", "-c", script, "bash"}, words...)...))
}

// aHubToComplete has something for each verb.
func aHubToComplete(t *testing.T) *testHub {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "edge-1"))
	h.put("Cluster", aCluster("fleet-default", "edge-2"))
	h.put("Cluster", aCluster("team-a", "other"))
	h.put("ClusterRegistrationToken", aToken("fleet-default", "token-1"))
	h.put("ClusterRegistrationToken", aToken("team-b", "token-2"))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-granted", grantedFor("edge-1")))
	h.put("ClusterRegistration", aRequest("fleet-default", "request-pending", refusedFor(explain.ReasonIdentityConflict, "edge-1")))
	return h
}

func TestBashCompletesCommandsFlagsAndNames(t *testing.T) {
	aHubToComplete(t)
	for line, want := range map[string]string{
		"fleet |":                                                   "agent bundle cluster completion controller deploy help registration target token version",
		"fleet cl|":                                                 "cluster",
		"fleet cluster e|":                                          "explain",
		"fleet bogus |":                                             "",
		"fleet cluster explain |":                                   "edge-1 edge-2",
		"fleet cluster explain edge-2|":                             "edge-2",
		"fleet cluster explain -n team-a |":                         "other",
		"fleet cluster explain team-a/|":                            "team-a/other",
		"fleet token values team-b/to|":                             "team-b/token-2",
		"fleet completion ba/|":                                     "",
		"fleet cluster redeploy --namespace = team-a o|":            "other",
		"fleet cluster explain --s|":                                "--system-namespace",
		"fleet cluster list --all|":                                 "--all-namespaces",
		"fleet cluster list -o |":                                   "json table yaml",
		"fleet cluster list --output = j|":                          "json",
		"fleet cluster list --output =|":                            "json table yaml",
		"fleet cluster list -n team|":                               "team-a team-b",
		"fleet cluster list --context |":                            "hub",
		"fleet token values |":                                      "token-1",
		"fleet token delete -n team-b |":                            "token-2",
		"fleet registration approve --replace |":                    "request-pending",
		"fleet registration deny |":                                 "request-pending",
		"fleet completion |":                                        "bash fish zsh",
		"fleet token create |":                                      "",
		"fleet cluster explain edge-1 -- -|":                        "",
		"fleet cluster explain $(touch${IFS}x) -n `touch${IFS}y` |": "",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Split(strings.TrimSuffix(line, "|"), " ")
			assert.Equal(t, want, strings.Join(completedBy(t, words...), " "))
		})
	}
}

// What was typed is handed to the program and nowhere else.
func TestBashRunsNothingOfWhatIsTyped(t *testing.T) {
	newTestHub(t, "")
	trap := filepath.Join(t.TempDir(), "trap")
	for _, word := range []string{"$(touch " + trap + ")", "`touch " + trap + "`", "; touch " + trap, "a\ntouch " + trap} {
		completedBy(t, "fleet", "cluster", "explain", word)
		completedBy(t, "fleet", "cluster", "explain", "-n", word, "")
	}
	assert.NoFileExists(t, trap)
}

func TestOtherShellsComplete(t *testing.T) {
	aHubToComplete(t)
	t.Run("zsh", func(t *testing.T) {
		script := `compdef() { :; }; compadd() { shift; print -l -- "$@" }; _files() { print FILES }
			source <(fleet completion zsh); words=(fleet cluster explain "$1"); CURRENT=4; _fleet`
		assert.Equal(t, "edge-1 edge-2", strings.Join(strings.Fields(inShell(t, "zsh", "-f", "-c", script, "zsh", "")), " "))
		assert.Equal(t, "FILES", strings.TrimSpace(inShell(t, "zsh", "-f", "-c", script, "zsh", "nothing")))
	})
	t.Run("fish", func(t *testing.T) {
		out := inShell(t, "fish", "--no-config", "-c", `fleet completion fish | source; complete -C 'fleet cluster explain '`)
		assert.Equal(t, "edge-1 edge-2", strings.Join(strings.Fields(out), " "))
	})
}

// Nobody waits long for a hub that does not answer, and nobody is told errors while typing.
func TestCompletionIsSilentWithoutAHub(t *testing.T) {
	h := newTestHub(t, "")
	h.identify("jane", func(_ http.ResponseWriter, r *http.Request) bool {
		h.Hang(r)
		return true
	})
	began := time.Now()
	code, out, errOut := typed("__complete", "--", "cluster", "explain", "")
	assert.Zero(t, code)
	assert.Empty(t, out+errOut)
	assert.Less(t, time.Since(began), 5*completeTimeout)

	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, words := range [][]string{{"cluster", "explain", ""}, {"cluster", "list", "-n", ""}, {"cluster", "list", "--context", ""}, {"--", "x"}, {""}, {}} {
		code, _, errOut = typed(append([]string{"__complete", "--"}, words...)...)
		assert.Zero(t, code, words)
		assert.Empty(t, errOut, words)
	}
}

// Whoever answers in the hub's place has no say in what a shell is given.
func TestWhatIsNoNameIsNotCompleted(t *testing.T) {
	h := newTestHub(t, "")
	h.put("Cluster", aCluster("fleet-default", "good"))
	h.put("Cluster", aCluster("fleet-default", "x; rm -rf ~"))
	h.put("Cluster", aCluster("fleet-default", "\x1b[2J"))
	_, out, _ := typed("__complete", "--", "cluster", "explain", "")
	assert.Equal(t, "good\n", out)
}

func TestTheCompletingCommandIsNotShown(t *testing.T) {
	_, out, _ := typed("--help")
	assert.NotContains(t, out, "__complete")
	_, _, errOut := typed("bogus")
	assert.NotContains(t, errOut, "__complete")
}
