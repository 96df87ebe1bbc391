package agentmanifest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

func settings() Settings {
	return Settings{
		SystemNamespace:       "cattle-fleet-system",
		Image:                 "registry.example.com/rancher/fleet-agent:v1",
		DefaultImage:          "rancher/fleet-agent:dev",
		PullPolicy:            "IfNotPresent",
		SystemDefaultRegistry: "registry.example.com/",
		PullSecrets:           []corev1.LocalObjectReference{{Name: "global"}},
		Replicas:              1,
		CheckinInterval:       15 * time.Minute,
		HeartbeatInterval:     time.Minute,
		DebugLevel:            5,
	}
}

func cluster(spec fleet.ClusterSpec) *fleet.Cluster {
	return &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet-default", Name: "edge"}, Spec: spec}
}

func effectiveOptions(t *testing.T, spec fleet.ClusterSpec, cfg Settings) Options {
	t.Helper()
	o, _, err := Effective(cluster(spec), cfg)
	require.NoError(t, err)
	return o
}

func TestAClusterWithoutWishesGetsTheSettings(t *testing.T) {
	o := effectiveOptions(t, fleet.ClusterSpec{}, settings())
	require.Equal(t, "cattle-fleet-system", o.Namespace)
	require.Empty(t, o.Scope)
	require.Equal(t, "registry.example.com/rancher/fleet-agent:v1", mustPod(t, o).Containers[0].Image)
	require.False(t, o.HostNetwork)
	require.Nil(t, o.PriorityClass)
	require.Nil(t, o.DisruptionBudget)
}

func TestTheClustersOwnNamespaceIsItsScope(t *testing.T) {
	o := effectiveOptions(t, fleet.ClusterSpec{AgentNamespace: "cattle-fleet-local-system"}, settings())
	require.Equal(t, "cattle-fleet-local-system", o.Namespace)
	require.Equal(t, "cattle-fleet-local-system", o.Scope)
}

func TestAnAgentThatCameByItselfStaysWhereItIs(t *testing.T) {
	for name, test := range map[string]struct {
		spec     fleet.ClusterSpec
		reported string
		want     string
	}{
		"reported":            {fleet.ClusterSpec{}, "elsewhere", "elsewhere"},
		"not reported":        {fleet.ClusterSpec{}, "", "cattle-fleet-system"},
		"no namespace at all": {fleet.ClusterSpec{}, "Else/where", "cattle-fleet-system"},
		"wished otherwise":    {fleet.ClusterSpec{AgentNamespace: "wished"}, "elsewhere", "wished"},
		"imported by the hub": {fleet.ClusterSpec{KubeConfigSecret: "kubeconfig"}, "elsewhere", "cattle-fleet-system"},
	} {
		o, _, err := Effective(&fleet.Cluster{Spec: test.spec, Status: fleet.ClusterStatus{Agent: fleet.AgentStatus{Namespace: test.reported}}}, settings())
		require.NoError(t, err, name)
		require.Equal(t, test.want, o.Namespace, name)
	}
}

func TestEveryAgentFieldOfTheClusterArrives(t *testing.T) {
	f := full()
	o := effectiveOptions(t, fleet.ClusterSpec{
		AgentNamespace:          f.Namespace,
		PrivateRepoURL:          f.PrivateRepoURL,
		AgentEnvVars:            f.EnvVars,
		AgentTolerations:        f.Tolerations,
		AgentAffinity:           f.Affinity,
		AgentResources:          f.Resources,
		HostNetwork:             ptr(true),
		AgentPullSecrets:        &f.PullSecrets,
		RedeployAgentGeneration: f.RedeployGeneration,
		AgentSchedulingCustomization: &fleet.AgentSchedulingCustomization{
			PriorityClass: f.PriorityClass, PodDisruptionBudget: f.DisruptionBudget},
	}, Settings{
		SystemNamespace: "cattle-fleet-system", Image: f.Image, PullPolicy: f.PullPolicy,
		SystemDefaultRegistry: f.SystemDefaultRegistry, Replicas: f.Replicas,
		CheckinInterval: f.CheckinInterval, HeartbeatInterval: f.HeartbeatInterval,
		BundleDeploymentWorkers: f.BundleDeploymentWorkers, DriftWorkers: f.DriftWorkers,
		LeaseDuration: f.LeaseDuration, RenewDeadline: f.RenewDeadline, RetryPeriod: f.RetryPeriod,
		GVKErrorMapping: f.GVKErrorMapping, ServerURL: f.ServerURL,
		PropagateDebug: true, Debug: f.Debug, DebugLevel: f.DebugLevel, DisableSecurityContext: f.DisableSecurityContext,
	})
	require.Equal(t, Normalize(f), o)
}

// A16
func TestPullSecretsAreCopiedOnlyWhereTheyAreTheHubs(t *testing.T) {
	for name, c := range map[string]struct {
		own       *[]corev1.LocalObjectReference
		global    []corev1.LocalObjectReference
		want      []corev1.LocalObjectReference
		propagate bool
	}{
		"none":              {nil, nil, nil, true},
		"the hub's":         {nil, []corev1.LocalObjectReference{{Name: "global"}}, []corev1.LocalObjectReference{{Name: "global"}}, true},
		"the Cluster's":     {&[]corev1.LocalObjectReference{{Name: "own"}}, nil, []corev1.LocalObjectReference{{Name: "own"}}, false},
		"both":              {&[]corev1.LocalObjectReference{{Name: "own"}}, []corev1.LocalObjectReference{{Name: "global"}}, []corev1.LocalObjectReference{{Name: "own"}}, false},
		"an empty list too": {&[]corev1.LocalObjectReference{}, []corev1.LocalObjectReference{{Name: "global"}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := settings()
			cfg.PullSecrets = c.global
			o, propagate, err := Effective(cluster(fleet.ClusterSpec{AgentPullSecrets: c.own}), cfg)
			require.NoError(t, err)
			require.Equal(t, c.want, o.PullSecrets)
			require.Equal(t, c.want, mustPod(t, o).ImagePullSecrets)
			require.Equal(t, c.propagate, propagate)
		})
	}
}

// A14
func TestAnEmptyCustomizationIsNone(t *testing.T) {
	var specs []fleet.ClusterSpec
	for _, document := range []string{
		`{}`, `{"agentSchedulingCustomization":null}`, `{"agentSchedulingCustomization":{}}`,
		`{"agentSchedulingCustomization":{"priorityClass":null,"podDisruptionBudget":null}}`,
		`{"agentTolerations":[],"agentEnvVars":[],"hostNetwork":false,"agentNamespace":"","privateRepoURL":""}`,
		`{"agentTolerations":null,"agentEnvVars":null,"hostNetwork":null,"agentResources":{}}`,
	} {
		var spec fleet.ClusterSpec
		require.NoError(t, json.Unmarshal([]byte(document), &spec))
		specs = append(specs, spec)
	}
	want, err := BundleYAML(effectiveOptions(t, specs[0], settings()))
	require.NoError(t, err)
	for _, spec := range specs {
		o := effectiveOptions(t, spec, settings())
		got, err := BundleYAML(o)
		require.NoError(t, err)
		require.Equal(t, want, got)
		scheduling, err := Scheduling(o)
		require.NoError(t, err)
		require.Empty(t, scheduling)
	}
}

func TestTheDefaultImageStandsInForNone(t *testing.T) {
	cfg := settings()
	cfg.Image = ""
	require.Equal(t, "rancher/fleet-agent:dev", effectiveOptions(t, fleet.ClusterSpec{}, cfg).Image)
}

// A15: a cluster's registry concerns that cluster, and a global one those without their own.
func TestOnlyTheAgentsConcernedFollowARegistry(t *testing.T) {
	with := fleet.ClusterSpec{PrivateRepoURL: "mirror.example.com"}
	before, after := settings(), settings()
	after.Image, after.SystemDefaultRegistry = "other.example.com/rancher/fleet-agent:v1", "other.example.com/"
	require.Equal(t, Generation(effectiveOptions(t, with, before)), Generation(effectiveOptions(t, with, after)))
	require.NotEqual(t,
		Generation(effectiveOptions(t, fleet.ClusterSpec{}, before)), Generation(effectiveOptions(t, fleet.ClusterSpec{}, after)))
}

func TestDebugSettingsReachAgentsOnlyWhenPropagated(t *testing.T) {
	cfg := settings()
	cfg.Debug, cfg.DisableSecurityContext = true, true
	o := effectiveOptions(t, fleet.ClusterSpec{}, cfg)
	require.False(t, o.Debug)
	require.False(t, o.DisableSecurityContext)

	cfg.PropagateDebug = true
	o = effectiveOptions(t, fleet.ClusterSpec{}, cfg)
	require.True(t, o.Debug)
	require.Equal(t, 5, o.DebugLevel)
	require.True(t, o.DisableSecurityContext)

	cfg.Debug = false
	o = effectiveOptions(t, fleet.ClusterSpec{}, cfg)
	require.False(t, o.Debug)
	require.True(t, o.DisableSecurityContext)
}

func TestConfigurationOverridesOnlyItsOwnSettings(t *testing.T) {
	var cfg config.Config
	require.NoError(t, json.Unmarshal([]byte(`{
		"agentImage": "img", "agentImagePullPolicy": "Never", "systemDefaultRegistry": "reg/",
		"imagePullSecrets": [{"name": "s"}], "agentCheckinInterval": "1m", "agentHeartbeatInterval": "2s",
		"agentWorkers": {"bundledeployment": "3", "drift": "4"}}`), &cfg))
	process := Settings{
		SystemNamespace: "ns", DefaultImage: "d", Replicas: 2, LeaseDuration: "1", RenewDeadline: "2", RetryPeriod: "3",
		GVKErrorMapping: "m", PropagateDebug: true, Debug: true, DebugLevel: 1, DisableSecurityContext: true, ServerURL: "u",
	}
	want := process
	want.Image, want.PullPolicy, want.SystemDefaultRegistry = "img", "Never", "reg/"
	want.PullSecrets = []corev1.LocalObjectReference{{Name: "s"}}
	want.CheckinInterval, want.HeartbeatInterval = time.Minute, 2*time.Second
	want.BundleDeploymentWorkers, want.DriftWorkers = "3", "4"
	require.Equal(t, want, process.WithConfig(cfg))
}

func TestAnInvalidClusterIsNamed(t *testing.T) {
	o, _, err := Effective(cluster(fleet.ClusterSpec{
		AgentTolerations: []corev1.Toleration{{Key: "a", Operator: "In"}}}), settings())
	require.ErrorContains(t, err, "fleet-default/edge")
	require.ErrorContains(t, err, "spec.agentTolerations[a].operator")
	require.Equal(t, "cattle-fleet-system", o.Namespace, "what is known is returned nevertheless")

	_, _, err = Effective(nil, settings())
	require.Error(t, err)
}
