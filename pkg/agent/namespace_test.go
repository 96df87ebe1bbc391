package agent

import (
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
)

// warned counts the warnings of the log that begin with a text.
func warned(hook *logtest.Hook, text string) int {
	count := 0
	for _, entry := range hook.AllEntries() {
		if entry.Level == logrus.WarnLevel && strings.HasPrefix(entry.Message, text) {
			count++
		}
	}
	return count
}

func TestAnAgentWithoutItsNamespaceSaysSoAndGoesOnOnceItIsThere(t *testing.T) {
	hook := logtest.NewGlobal()
	t.Cleanup(func() { logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{}) })
	h := hubtest.New(t, hubtest.Options{})
	c := newCluster(t)
	const late = "late-namespace"
	p := c.start("pod-1", func(o *Options) { o.Namespace = late })
	const says = "There is no namespace late-namespace on this cluster, and so no Secret late-namespace/fleet-agent-bootstrap: waiting."
	eventually(t, "the log says what is missing", func() bool { return warned(hook, says) == 1 })

	c.Put("/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}})
	c.Put("/secrets", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: late, Name: "fleet-agent-bootstrap"}, Data: h.Bootstrap().SecretData(),
	})
	eventually(t, "the agent registers", func() bool { return len(h.Requests()) == 1 && c.Get("/secrets", late, "fleet-agent", nil) })
	assert.Equal(t, 1, warned(hook, says), "it is said once")
	require.NoError(t, p.stop())
}

func TestAnAgentThatWaitsForItsNamespaceCanBeStopped(t *testing.T) {
	c := newCluster(t)
	p := c.start("pod-1", func(o *Options) { o.Namespace = "nowhere" })
	assert.NoError(t, p.stop())
}
