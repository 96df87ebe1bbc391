package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rancher/fleet/pkg/names"
)

func TestControllersDeploymentIsTheOneThatOthersLookFor(t *testing.T) {
	d := deployment(t, hub("").mustRender(t))
	assert.Equal(t, names.ControllerDeployment, d.Name)
	assert.Equal(t, names.DefaultSystemNamespace, d.Namespace)
	assert.Equal(t, map[string]string{
		"app": "fleet-controller", "fleet.cattle.io/shard-id": "", "fleet.cattle.io/shard-default": "true",
	}, d.Spec.Template.Labels)
	assert.Equal(t, intstr.FromInt32(0), *d.Spec.Strategy.RollingUpdate.MaxUnavailable)

	c := d.Spec.Template.Spec.Containers[0]
	assert.Equal(t, "fleet-controller", c.Name)
	assert.Equal(t, []string{"fleetcontroller"}, c.Command)
	assert.Empty(t, c.Args)
	assert.Equal(t, names.ControllerAccount, d.Spec.Template.Spec.ServiceAccountName)
	assert.Equal(t, []corev1.Toleration{linuxToleration}, d.Spec.Template.Spec.Tolerations)
	assert.Equal(t, map[string]string{"kubernetes.io/os": "linux"}, d.Spec.Template.Spec.NodeSelector)
}

func TestControllersPortsAndProbesFitTogether(t *testing.T) {
	r := hub("").mustRender(t)
	c := container(t, r)
	ports := map[string]int32{}
	for _, port := range c.Ports {
		ports[port.Name] = port.ContainerPort
	}
	assert.Equal(t, map[string]int32{"metrics": 8080, "health": 8081}, ports)
	assert.Equal(t, &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("health")}, c.LivenessProbe.HTTPGet)
	assert.Equal(t, &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("health")}, c.ReadinessProbe.HTTPGet)

	service := find[*corev1.Service](t, r, names.DefaultSystemNamespace, "monitoring-fleet-controller")
	require.Len(t, service.Spec.Ports, 1)
	assert.Equal(t, int32(8080), service.Spec.Ports[0].Port)
	assert.Equal(t, intstr.FromString("metrics"), service.Spec.Ports[0].TargetPort)
	labels := deployment(t, r).Spec.Template.Labels
	for key, value := range service.Spec.Selector {
		assert.Equal(t, value, labels[key], "the Service selects the pods")
	}
}

func TestEnvironmentHasTheDefaultsOfTheWire(t *testing.T) {
	r := hub("").mustRender(t)
	for name, want := range map[string]string{
		"CATTLE_ELECTION_LEASE_DURATION":           "30s",
		"CATTLE_ELECTION_RENEW_DEADLINE":           "25s",
		"CATTLE_ELECTION_RETRY_PERIOD":             "10s",
		"FLEET_AGENT_ELECTION_LEASE_DURATION":      "30s",
		"FLEET_AGENT_ELECTION_RENEW_DEADLINE":      "25s",
		"FLEET_AGENT_ELECTION_RETRY_PERIOD":        "10s",
		"FLEET_AGENT_REPLICA_COUNT":                "1",
		"FLEET_REGISTRATION_TOKEN_TTL_REQUIRED":    "false",
		"FLEET_PROPAGATE_DEBUG_SETTINGS_TO_AGENTS": "true",
		"FLEET_DEBUG_DISABLE_SECURITY_CONTEXT":     "false",
		"BUNDLE_RECONCILER_WORKERS":                "50",
	} {
		env(name, want)(t, r)
	}
	fields := map[string]string{}
	for _, variable := range container(t, r).Env {
		if variable.ValueFrom != nil && variable.ValueFrom.FieldRef != nil {
			fields[variable.Name] = variable.ValueFrom.FieldRef.FieldPath
		}
	}
	assert.Equal(t, map[string]string{"NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name"}, fields)
}

func TestResourcesGoByContainerFirst(t *testing.T) {
	memory := func(quantity string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
	}
	for values, want := range map[string]corev1.ResourceRequirements{
		"":                                     {},
		"resources: null":                      {},
		"resources: {}":                        {},
		"resources: {limits: {memory: 1Gi}}":   {Limits: memory("1Gi")},
		"resources: {requests: {memory: 1Gi}}": {Requests: memory("1Gi")},
		"resources: {limits: {memory: 2Gi}, requests: {memory: 1Gi}}":                                  {Limits: memory("2Gi"), Requests: memory("1Gi")},
		"resources: {limits: {memory: 2Gi}, fleetController: {requests: {memory: 1Gi}}}":               {Requests: memory("1Gi")},
		"resources: {limits: {memory: 2Gi}, fleetController: {}}":                                      {},
		"resources: {limits: {memory: 2Gi}, fleetController: null}":                                    {Limits: memory("2Gi")},
		"resources: {limits: {memory: 2Gi}, fleetCleanup: {limits: {memory: 1Gi}}, fleetElse: {a: b}}": {Limits: memory("2Gi")},
	} {
		t.Run(values, func(t *testing.T) {
			assert.Equal(t, want, container(t, hub(values).mustRender(t)).Resources)
		})
	}
}
