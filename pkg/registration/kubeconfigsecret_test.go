package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// TestAllowedKubeConfigSecretNamespace of the reference.
func TestWhereAKubeconfigSecretMayLie(t *testing.T) {
	const workspace = "fleet-default"
	for _, test := range []struct {
		workspace, namespace string
		want                 bool
	}{
		{workspace, "", true},
		{workspace, "fleet-default", true},
		{workspace, "fleet-local", false}, // what lies there opens the hub itself
		{"fleet-local", "fleet-local", true},
		{workspace, "cattle-fleet-system", true},
		{workspace, "fleet-system", true},
		{workspace, "cattle-fleet-clusters-system", true},
		{workspace, "fleet-clusters-system", true},
		{workspace, "cluster-fleet-default-x-1234", true},
		{"my-workspace", "my-workspace", true},
		{"cattle-system", "cattle-system", true},
		{workspace, "kube-system", false},
		{workspace, "cattle-system", false},
		{workspace, "some-other-namespace", false},
		{workspace, "default", false},
	} {
		assert.Equal(t, test.want, AllowedSecretNamespace(test.workspace, test.namespace), "%s from %s", test.namespace, test.workspace)
	}
}

func TestAKubeconfigSecretLiesBesideItsCluster(t *testing.T) {
	c := &fleet.Cluster{}
	c.Namespace = "ws"
	assert.Equal(t, "ws", KubeconfigSecretNamespace(c))
	c.Spec.KubeConfigSecretNamespace = "other"
	assert.Equal(t, "other", KubeconfigSecretNamespace(c))
}
