package verbs

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/proc"
	"github.com/rancher/fleet/e2e/stage"
)

// bed is a hub with its controller, and a person with a kubeconfig.
type bed struct {
	*stage.Stage
	controller *proc.Process
	kubeconfig string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	plane := lab.Shared(t, "hub")
	s, err := stage.NewForSuite(plane)
	require.NoError(t, err)
	s.EndWithTest(t)
	ctx := until(t)
	require.NoError(t, s.InstallHub(ctx, map[string]any{"agentHeartbeatInterval": heartbeat, "bootstrap": map[string]any{"enabled": false}}))
	b := &bed{Stage: s, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	b.controller, err = s.StartController(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsureNamespace(ctx, workspace))
	token, err := plane.AdminToken()
	require.NoError(t, err)
	// The workspace is the person's own choice in the context; the commands below need no -n.
	person := lab.Kubeconfig{Name: "hub", Server: plane.URL, CA: plane.CA(), Token: token, Namespace: workspace}
	require.NoError(t, person.Write(b.kubeconfig))
	return b
}

// typed is what a person sees of a command.
type typed struct {
	code        int
	out, errOut string
}

// fleet runs what a person types.
func (b *bed) fleet(t *testing.T, words ...string) typed {
	t.Helper()
	return b.fleetAs(t, b.kubeconfig, words...)
}

func (b *bed) fleetAs(t *testing.T, kubeconfig string, words ...string) typed {
	t.Helper()
	command := exec.CommandContext(until(t), b.Binary(), words...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	_ = command.Run() // the code tells
	require.NotNil(t, command.ProcessState, "fleet %s did not run", strings.Join(words, " "))
	got := typed{code: command.ProcessState.ExitCode(), out: out.String(), errOut: errOut.String()}
	t.Logf("$ fleet %s   (%d)\n%s%s", strings.Join(words, " "), got.code, withoutTokens(got.out), got.errOut)
	return got
}

// withoutTokens keeps credentials out of logs.
func withoutTokens(out string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "token: ") {
			lines[i] = "token: (not shown)"
		}
	}
	return strings.Join(lines, "\n")
}

// succeeds runs a command that must end well, and returns its output.
func (b *bed) succeeds(t *testing.T, words ...string) string {
	t.Helper()
	got := b.fleet(t, words...)
	require.Zero(t, got.code, got.errOut)
	return got.out
}

// read runs a command and reads the JSON that it prints.
func read[T any](t *testing.T, b *bed, words ...string) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal([]byte(b.succeeds(t, append(words, "-o", "json")...)), &value))
	return value
}
