package cli

import (
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
)

func TestAgentsHaveAtLeastOneReplica(t *testing.T) {
	hook := logtest.NewGlobal()
	t.Cleanup(func() { logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{}) })
	for text, test := range map[string]struct {
		replicas int32
		warned   bool
	}{
		"": {1, false}, "1": {1, false}, "3": {3, false},
		"0": {1, true}, "-1": {1, true}, "two": {1, true}, "1.5": {1, true}, " 2": {1, true}, "99999999999": {1, true},
	} {
		hook.Reset()
		assert.Equal(t, test.replicas, agentReplicas(text), text)
		if !test.warned {
			assert.Empty(t, hook.AllEntries(), text)
			continue
		}
		if assert.Len(t, hook.AllEntries(), 1, text) {
			assert.Equal(t, logrus.WarnLevel, hook.LastEntry().Level)
			assert.Contains(t, hook.LastEntry().Message, "agent.replicas")
		}
	}
}

// The hub of a chart with agent.replicas: 0 goes on to the next step; there it finds that it is in no cluster.
func TestAHubStartsWithoutReplicasForItsAgents(t *testing.T) {
	hook := logtest.NewGlobal()
	t.Cleanup(func() { logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{}) })
	t.Setenv(envAgentReplicas, "0")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	code, _, errOut := typed("controller", "--namespace", "cattle-fleet-system")

	assert.Equal(t, 1, code)
	assert.Contains(t, errOut, "no kubeconfig was given")
	assert.Len(t, hook.AllEntries(), 1)
}

// A default that does not hold with --kubeconfig is not shown as if it did.
func TestTheHelpOfBothRolesSaysThatNothingIsServedFromOutside(t *testing.T) {
	for _, role := range []string{"controller", "agent"} {
		code, out, _ := typed(role, "--help")
		assert.Zero(t, code)
		assert.Regexp(t, `--metrics-bind-address.*default: :8080; with --kubeconfig nowhere`, out)
		assert.Regexp(t, `--health-bind-address.*default: :8081; with --kubeconfig nowhere`, out)
	}
}
