package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/ready"
)

// The readiness probe of an agent's pod.
func TestReadinessIsAsked(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	probe := func() (int, string) {
		var out, errOut bytes.Buffer
		code := run(context.Background(), []string{"fleetagent", "--ready"}, &out, &errOut)
		return code, out.String() + errOut.String()
	}
	require.NoError(t, ready.At(dir).Waits(ready.HubUnreachable+": no route"))
	code, said := probe()
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "the hub cannot be reached: no route")

	require.NoError(t, ready.At(dir).Set())
	code, said = probe()
	assert.Zero(t, code)
	assert.Empty(t, said)
}

func TestOnlyAPodSaysThatItIsReady(t *testing.T) {
	t.Setenv("TMPDIR", "/somewhere")
	env := map[string]string{}
	getenv := func(key string) string { return env[key] }
	assert.Empty(t, readyDir(getenv))
	env[envPodName] = "fleet-agent-0"
	assert.Equal(t, "/somewhere", readyDir(getenv))
}
