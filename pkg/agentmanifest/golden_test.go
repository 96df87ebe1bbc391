package agentmanifest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/yaml"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
)

var update = flag.Bool("update", false, "write testdata anew instead of comparing with it")

// A difference here restarts every agent that exists: it must be meant.
func TestManifestsAreAsTheGoldenFilesSay(t *testing.T) {
	hostNetwork := minimal()
	hostNetwork.HostNetwork = true
	for name, o := range map[string]Options{"minimal": minimal(), "hostnetwork": hostNetwork, "full": full()} {
		t.Run(name, func(t *testing.T) {
			manifest, err := BundleYAML(o)
			require.NoError(t, err)
			golden(t, name+".yaml", manifest)
		})
	}
}

func TestSchedulingIsAsTheGoldenFileSays(t *testing.T) {
	objects, err := Scheduling(full())
	require.NoError(t, err)
	golden(t, "scheduling.yaml", export(t, objects...))
}

func TestBootstrapObjectsAreAsTheGoldenFileSays(t *testing.T) {
	config, err := ConfigMap("cattle-fleet-system", AgentConfig{
		Labels:                    map[string]string{"env": "prod", "management.cattle.io/cluster-name": "c-1"},
		ClientID:                  "client",
		AgentTLSMode:              "strict",
		GarbageCollectionInterval: 900e9,
	})
	require.NoError(t, err)
	secret := BootstrapSecret("cattle-fleet-system", map[string]string{
		"apiServerURL": "https://hub.example.com", "clusterNamespace": "fleet-default"})
	golden(t, "bootstrap.yaml", export(t, secret, config))
}

func export(t *testing.T, objects ...runtime.Object) string {
	t.Helper()
	data, err := yaml.Export(objects...)
	require.NoError(t, err)
	return string(data)
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
