package charts

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/names"
)

// hubsDeployment is what the hub's bundle makes of the options that an agent reports.
func hubsDeployment(t *testing.T, r rendered) *appsv1.Deployment {
	t.Helper()
	reported := options(t, r)
	objects, err := agentmanifest.Objects(agentmanifest.Options{
		Namespace:         names.DefaultSystemNamespace,
		Image:             "rancher/fleet-agent:dev",
		PullPolicy:        "IfNotPresent",
		CheckinInterval:   15 * time.Minute,
		HeartbeatInterval: time.Minute,
		EnvVars:           reported.EnvVars,
		Tolerations:       reported.Tolerations,
		Affinity:          reported.Affinity,
		Resources:         reported.Resources,
		HostNetwork:       reported.HostNetwork != nil && *reported.HostNetwork,
		PullSecrets:       reported.PullSecrets,
	})
	require.NoError(t, err)
	for _, object := range objects {
		if d, ok := object.(*appsv1.Deployment); ok {
			return d
		}
	}
	require.Fail(t, "the hub makes no Deployment")
	return nil
}

// normalized takes out of a Deployment what the two spell differently: the hub's GENERATION, and 15m for 15m0s.
func normalized(t *testing.T, d *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	d = d.DeepCopy()
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env = slices.DeleteFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == agentmanifest.EnvGeneration })
	for i, variable := range c.Env {
		if slices.Contains([]string{agentmanifest.EnvCheckinInterval, agentmanifest.EnvHeartbeatInterval}, variable.Name) {
			interval, err := time.ParseDuration(variable.Value)
			require.NoError(t, err, variable.Name)
			c.Env[i].Value = interval.String()
		}
	}
	return d
}

// Adoption loses nothing: the hub's Deployment is the chart's, but for the node selector, which is in the affinity there.
func TestHubTakesOverTheDeploymentAsItIs(t *testing.T) {
	for name, values := range map[string]string{
		"defaults":     "",
		"all options":  fullAgentValues,
		"host network": "fleetAgent: {hostNetwork: true}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := agent(values).mustRender(t)
			chart, hub := normalized(t, deployment(t, r)), normalized(t, hubsDeployment(t, r))
			if name == "all options" {
				require.Contains(t, chart.Spec.Template.Spec.NodeSelector, "zone")
				chart.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
				chart.Spec.Template.Spec.Affinity = options(t, r).Affinity
			}
			assert.Equal(t, only(hub).text(t), only(chart).text(t))
		})
	}
}
