package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// The document in the secret of a ClusterRegistrationToken is a values file as it stands.
func TestTokensValuesInstallAnAgent(t *testing.T) {
	for name, given := range map[string]registration.Bootstrap{
		"hub in the default namespace": {
			APIServerURL: "https://hub.example.com:6443", APIServerCA: []byte("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
			ClusterNamespace: "fleet-default", Token: "ey.J0.ken", TokenName: "edge",
			SystemRegistrationNamespace: "cattle-fleet-clusters-system",
		},
		"hub with a public certificate": {
			APIServerURL: "https://hub.example.com", ClusterNamespace: "fleet-default", Token: "ey.J0.ken", TokenName: "edge",
			SystemRegistrationNamespace: "cattle-fleet-clusters-system",
		},
		"hub in a namespace of its own": {
			APIServerURL: "https://hub.example.com", ClusterNamespace: "edges", Token: "123", TokenName: "007",
			SystemRegistrationNamespace: "hub-clusters-system", SystemNamespace: "hub-system",
		},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := given.Values()
			require.NoError(t, err)
			i := agent("")
			i.values = string(values)
			if given.SystemNamespace != "" {
				i.namespace = given.SystemNamespace
			}
			r := i.mustRender(t)
			secret := find[*corev1.Secret](t, r, i.namespace, names.AgentBootstrapSecret)
			got, err := registration.ParseBootstrap(secret.Data)
			require.NoError(t, err)
			want := given
			want.SystemNamespace = "" // says where to install, and is not needed after that
			assert.Equal(t, want, got)
		})
	}
}
