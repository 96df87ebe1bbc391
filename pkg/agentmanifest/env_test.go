package agentmanifest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func envNames(t *testing.T, o Options) (out []string) {
	t.Helper()
	for _, v := range mustPod(t, o).Containers[0].Env {
		out = append(out, v.Name)
	}
	return out
}

func TestBuiltInVariablesComeInTheWiresOrder(t *testing.T) {
	require.Equal(t, []string{
		"BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "DRIFT_RECONCILER_WORKERS", "NAMESPACE", "AGENT_SCOPE", "CHECKIN_INTERVAL",
		"CATTLE_ELECTION_LEASE_DURATION", "CATTLE_ELECTION_RETRY_PERIOD", "CATTLE_ELECTION_RENEW_DEADLINE",
		"HEARTBEAT_INTERVAL", "POD_NAME", "GENERATION",
	}, envNames(t, minimal()))
	require.Equal(t, []string{
		"BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "DRIFT_RECONCILER_WORKERS", "NAMESPACE", "AGENT_SCOPE", "CHECKIN_INTERVAL",
		"CATTLE_ELECTION_LEASE_DURATION", "CATTLE_ELECTION_RETRY_PERIOD", "CATTLE_ELECTION_RENEW_DEADLINE",
		"CATTLE_WRANGLER_CHECK_GVK_ERROR_MAPPING",
		"HEARTBEAT_INTERVAL", "POD_NAME", "GENERATION",
		"PROXY_HOST", "HTTPS_PROXY", "PROXY_PASSWORD",
	}, envNames(t, full()))
}

// A20
func TestIntervalsArriveInTheAgent(t *testing.T) {
	pod := mustPod(t, full())
	require.Equal(t, "5m0s", variable(t, pod, EnvCheckinInterval).Value)
	require.Equal(t, "30s", variable(t, pod, EnvHeartbeatInterval).Value)

	o := minimal()
	o.CheckinInterval, o.HeartbeatInterval = 0, 0
	pod = mustPod(t, o)
	require.Equal(t, "0s", variable(t, pod, EnvCheckinInterval).Value)
	require.Equal(t, "1m0s", variable(t, pod, EnvHeartbeatInterval).Value)
}

func TestErrorMappingIsForwardedVerbatim(t *testing.T) {
	single := `[{"gvk":"a/v1, Kind=A","conditionMappings":[{"type":"Failed","status":["True"]}]}]`
	multiple := `[{"gvk":"a/v1, Kind=A"}, {"gvk":"b/v1, Kind=B"}]`
	for name, mapping := range map[string]string{"not set": "", "single": single, "multiple": multiple} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.GVKErrorMapping = mapping
			got := variable(t, mustPod(t, o), EnvGVKErrorMapping)
			if mapping == "" {
				require.Nil(t, got)
				return
			}
			require.Equal(t, mapping, got.Value)
		})
	}
	t.Run("the Cluster's own wins", func(t *testing.T) {
		o := minimal()
		o.GVKErrorMapping = single
		o.EnvVars = []corev1.EnvVar{{Name: EnvGVKErrorMapping, Value: multiple}}
		require.Equal(t, multiple, variable(t, mustPod(t, o), EnvGVKErrorMapping).Value)
	})
}

func TestAClusterMayTuneWhatIsNotReserved(t *testing.T) {
	o := minimal()
	o.EnvVars = []corev1.EnvVar{{Name: EnvLeaseDuration, Value: "90s"}}
	require.Equal(t, "90s", variable(t, mustPod(t, o), EnvLeaseDuration).Value)
	env := envNames(t, o)
	require.Equal(t, EnvLeaseDuration, env[len(env)-1])
}

func TestOfTwoVariablesWithOneNameTheLaterHolds(t *testing.T) {
	o := minimal()
	o.EnvVars = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "A", Value: "3"}}
	pod := mustPod(t, o)
	require.Equal(t, "3", variable(t, pod, "A").Value)
	require.Equal(t, "2", variable(t, pod, "B").Value)
}
