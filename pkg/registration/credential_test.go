package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testCredential() Credential {
	return Credential{
		Token: testToken, DeploymentNamespace: "cluster-fleet-default-edge-0123456789ab", ClusterNamespace: "fleet-default",
		ClusterName: "edge.eu", SystemNamespace: "cattle-fleet-system",
	}
}

func sealedCredential() Credential {
	c := testCredential()
	c.Token, c.SealedToken, c.HubUID = "", "c2VhbGVk", "7b0c9f35-7f0d-4a3b-9d2e-1c6f1f6a2b11"
	return c
}

func TestCredentialMakesTheRoundTrip(t *testing.T) {
	for _, want := range []Credential{testCredential(), sealedCredential()} {
		got, err := ParseCredential(want.Data())
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestCredentialHasTheKeysOfTheWire(t *testing.T) {
	assert.Equal(t, map[string][]byte{
		"token": []byte(testToken), "deploymentNamespace": []byte("cluster-fleet-default-edge-0123456789ab"),
		"clusterNamespace": []byte("fleet-default"), "clusterName": []byte("edge.eu"), "systemNamespace": []byte("cattle-fleet-system"),
	}, testCredential().Data())
	sealed := sealedCredential().Data()
	assert.NotContains(t, sealed, "token")
	assert.Equal(t, []byte("c2VhbGVk"), sealed["sealedToken"])
	assert.Contains(t, sealed, "hubUID")
}

// Where both are given, the token in clear is not written.
func TestSealedCredentialNeverCarriesTheToken(t *testing.T) {
	c := sealedCredential()
	c.Token = testToken
	assert.NotContains(t, c.Data(), KeyToken)
}

func TestCredentialErrorsNameTheKey(t *testing.T) {
	for _, test := range []struct{ key, value, problem string }{
		{KeyDeploymentNamespace, "", KeyDeploymentNamespace},
		{KeyDeploymentNamespace, "../../secrets", KeyDeploymentNamespace},
		{KeyClusterNamespace, "", KeyClusterNamespace},
		{KeyClusterNamespace, "a.b", KeyClusterNamespace},
		{KeyClusterName, "", KeyClusterName},
		{KeyClusterName, "a/b", KeyClusterName},
		{KeySystemNamespace, "A", KeySystemNamespace},
		{KeyToken, "", "has neither"},
		{KeyToken, "secret\n", "no token has"},
		{KeyToken, strings.Repeat("a", maxToken+1), "longer than a token"},
		{KeySealedToken, "c2VhbGVk", "has both"},
	} {
		data := testCredential().Data()
		data[test.key] = []byte(test.value)
		_, err := ParseCredential(data)
		require.ErrorContains(t, err, test.problem, "%s: %.40q", test.key, test.value)
		assert.NotContains(t, err.Error(), "secret\n", "an error tells no secret")
	}
	for _, test := range []struct{ key, value, problem string }{
		{KeyHubUID, "", KeyHubUID},
		{KeyHubUID, "a b", KeyHubUID},
		{KeySealedToken, "", "has neither"},
		{KeySealedToken, strings.Repeat("a", maxSealed+1), "longer than a token"},
	} {
		data := sealedCredential().Data()
		data[test.key] = []byte(test.value)
		_, err := ParseCredential(data)
		require.ErrorContains(t, err, test.problem, "%s: %.40q", test.key, test.value)
	}
}

func TestOlderHubsLeaveTheSystemNamespaceOut(t *testing.T) {
	data := testCredential().Data()
	delete(data, KeySystemNamespace)
	got, err := ParseCredential(data)
	require.NoError(t, err)
	assert.Empty(t, got.SystemNamespace)
}

func FuzzParseCredential(f *testing.F) {
	f.Add(testToken, "", "", "cluster-a", "fleet-default", "edge", "")
	f.Add("", "c2VhbGVk", "uid", "cluster-a", "fleet-default", "edge", "cattle-fleet-system")
	f.Add("\xff", "\n", "\x00", "..", "/", "A", "-")
	f.Add(testToken+"\r\nX: y", "", "", "cluster-a/../b", "fleet-default\n", "edge%2f", strings.Repeat("a", 64))
	f.Add(strings.Repeat("a", maxToken+1), strings.Repeat("b", maxSealed+1), "\x1b[2J", "", "\u202e", strings.Repeat("a", 254), "..")
	f.Fuzz(func(t *testing.T, token, sealed, hub, deployment, workspace, cluster, system string) {
		c, err := ParseCredential(map[string][]byte{
			KeyToken: []byte(token), KeySealedToken: []byte(sealed), KeyHubUID: []byte(hub), KeyDeploymentNamespace: []byte(deployment),
			KeyClusterNamespace: []byte(workspace), KeyClusterName: []byte(cluster), KeySystemNamespace: []byte(system),
		})
		if err != nil {
			checkError(t, err, "e", c.Token)
			require.Regexp(t, `key "|the credential`, err.Error())
			return
		}
		require.True(t, (c.Token == "") != (c.SealedToken == ""), "one of the two")
		for _, segment := range []string{c.DeploymentNamespace, c.ClusterNamespace, c.ClusterName} {
			require.NotEmpty(t, segment)
			require.NotContains(t, segment, "/")
			require.NotContains(t, segment, "..")
		}
		if c.SealedToken == "" {
			c.HubUID = ""
		}
		again, err := ParseCredential(c.Data())
		require.NoError(t, err)
		require.Equal(t, c, again)
	})
}
