package kube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const personsKubeconfig = `apiVersion: v1
kind: Config
current-context: plain
clusters: [{name: hub, cluster: {server: "https://hub.example.com"}}]
users: [{name: jane, user: {}}]
contexts:
- {name: team, context: {cluster: hub, user: jane, namespace: team-a}}
- {name: plain, context: {cluster: hub, user: jane}}
`

func TestAPersonsNamespaceIsTheOneOfTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(personsKubeconfig), 0o600))

	assert.Equal(t, "team-a", UserNamespace(path, "team"))
	assert.Empty(t, UserNamespace(path, "plain"), "kubectl's default is not a choice")
	assert.Empty(t, UserNamespace(path, ""), "the current context is the plain one")
	assert.Empty(t, UserNamespace(path, "nobody's"))
	assert.Empty(t, UserNamespace(filepath.Join(t.TempDir(), "none"), ""))
	assert.Equal(t, []string{"plain", "team"}, UserContexts(path))
	assert.Empty(t, UserContexts(filepath.Join(t.TempDir(), "none")))

	t.Setenv("KUBECONFIG", path)
	assert.Equal(t, "team-a", UserNamespace("", "team"), "found as kubectl does")
	assert.Equal(t, []string{"plain", "team"}, UserContexts(""))
}
