package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

func TestAgentIsRefusedWithTheValueAndTheWayOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*install)
		want   []string
	}{
		"no address": {func(i *install) { i.values = "token: a-secret\ntokenName: b\n" },
			[]string{"value apiServerURL is empty", "ClusterRegistrationToken", "base64 -d", "chart fleet"}},
		"no token's name": {func(i *install) { i.values = "token: a-secret\napiServerURL: https://hub\n" },
			[]string{"value tokenName is empty", "ClusterRegistrationToken", "base64 -d"}},
		"no token": {func(i *install) { i.values = "tokenName: b\napiServerURL: https://hub\n" },
			[]string{"value token is empty", "ClusterRegistrationToken", "base64 -d"}},
		"wrong namespace": {func(i *install) { i.namespace = "elsewhere" },
			[]string{"elsewhere", "internal.systemNamespace", "--namespace cattle-fleet-system"}},
		"namespace of a hub elsewhere": {func(i *install) { i.values += "internal: {systemNamespace: my-hub}\n" },
			[]string{"cattle-fleet-system", "internal.systemNamespace", "--namespace my-hub"}},
		"wrong release": {func(i *install) { i.release = "agent" },
			[]string{"agent", "internal.managedReleaseName", "release name fleet-agent"}},
		"another existing secret": {func(i *install) { i.values = "existingSecret: my-secret\n" },
			[]string{"existingSecret is my-secret", "make it by that name", "fleet-agent-bootstrap"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := agent("")
			c.change(&i)
			_, err := i.render()
			require.Error(t, err)
			for _, want := range c.want {
				assert.Contains(t, err.Error(), want)
			}
			assert.NotContains(t, err.Error(), "a-secret")
			assert.NotContains(t, err.Error(), "secret-token")
		})
	}
}

func TestAgentInstallsWhereTheValuesSay(t *testing.T) {
	i := agent("internal: {systemNamespace: my-hub, managedReleaseName: my-agent}\n")
	i.namespace, i.release = "my-hub", "my-agent"
	r := i.mustRender(t)
	find[*corev1.Secret](t, r, "my-hub", names.AgentBootstrapSecret)
	for _, object := range r.list() {
		assert.NotContains(t, object, "cattle-fleet-system")
	}
}

func TestExistingSecretNeedsNoToken(t *testing.T) {
	i := agent("")
	i.values = "existingSecret: fleet-agent-bootstrap\n"
	r := i.mustRender(t)
	for _, object := range r.objects {
		_, isSecret := object.(*corev1.Secret)
		assert.False(t, isSecret)
	}
	assert.NotEmpty(t, r.notes)
}
