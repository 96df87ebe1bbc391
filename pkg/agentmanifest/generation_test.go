package agentmanifest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// change is what happens to GENERATION when one option changes.
type change struct {
	field   string
	name    string
	apply   func(*Options)
	effects bool
}

func changes() []change {
	const restarts, nothing = true, false
	return []change{
		{"Namespace", "another", func(o *Options) { o.Namespace = "other" }, restarts},
		{"Scope", "another", func(o *Options) { o.Scope = "" }, restarts},
		{"Image", "another", func(o *Options) { o.Image = "rancher/fleet-agent:v2" }, restarts},
		{"Image", "same without the registry that is replaced anyway",
			func(o *Options) { o.Image = "rancher/fleet-agent:v1.2.3" }, nothing},
		{"PullPolicy", "another", func(o *Options) { o.PullPolicy = "Never" }, restarts},
		{"SystemDefaultRegistry", "none", func(o *Options) { o.SystemDefaultRegistry = "" }, restarts},
		{"SystemDefaultRegistry", "the same without slash",
			func(o *Options) { o.SystemDefaultRegistry = "registry.example.com" }, nothing},
		{"PrivateRepoURL", "another", func(o *Options) { o.PrivateRepoURL = "other.example.com" }, restarts},
		{"PrivateRepoURL", "the same with slash",
			func(o *Options) { o.PrivateRepoURL = "mirror.example.com/private/" }, nothing},
		{"PullSecrets", "none", func(o *Options) { o.PullSecrets = nil }, restarts},
		{"PullSecrets", "another order", func(o *Options) {
			o.PullSecrets = []corev1.LocalObjectReference{{Name: "regcred-a"}, {Name: "regcred-b"}}
		}, nothing},
		{"Replicas", "another", func(o *Options) { o.Replicas = 3 }, restarts},
		{"CheckinInterval", "another", func(o *Options) { o.CheckinInterval++ }, restarts},
		{"HeartbeatInterval", "another", func(o *Options) { o.HeartbeatInterval++ }, restarts},
		{"BundleDeploymentWorkers", "another", func(o *Options) { o.BundleDeploymentWorkers = "" }, restarts},
		{"DriftWorkers", "another", func(o *Options) { o.DriftWorkers = "" }, restarts},
		{"LeaseDuration", "another", func(o *Options) { o.LeaseDuration = "70s" }, restarts},
		{"RenewDeadline", "another", func(o *Options) { o.RenewDeadline = "40s" }, restarts},
		{"RetryPeriod", "another", func(o *Options) { o.RetryPeriod = "" }, restarts},
		{"RetryPeriod", "as it is", func(o *Options) { o.RetryPeriod = "5s" }, nothing},
		{"GVKErrorMapping", "none", func(o *Options) { o.GVKErrorMapping = "" }, restarts},
		{"Debug", "off", func(o *Options) { o.Debug = false }, restarts},
		{"DebugLevel", "another", func(o *Options) { o.DebugLevel = 1 }, restarts},
		{"DisableSecurityContext", "off", func(o *Options) { o.DisableSecurityContext = false }, restarts},
		{"EnvVars", "another value", func(o *Options) { o.EnvVars[0].Value = "other" }, restarts},
		{"EnvVars", "another order", func(o *Options) { o.EnvVars[0], o.EnvVars[1] = o.EnvVars[1], o.EnvVars[0] }, restarts},
		{"Tolerations", "another", func(o *Options) { *o.Tolerations[1].TolerationSeconds++ }, restarts},
		{"Tolerations", "another order",
			func(o *Options) { o.Tolerations[0], o.Tolerations[1] = o.Tolerations[1], o.Tolerations[0] }, nothing},
		{"Affinity", "none", func(o *Options) { o.Affinity = nil }, restarts},
		{"Affinity", "empty", func(o *Options) { o.Affinity = &corev1.Affinity{} }, restarts},
		{"Resources", "none", func(o *Options) { o.Resources = nil }, restarts},
		{"Resources", "the same quantity", func(o *Options) {
			o.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("0.1")
		}, nothing},
		{"HostNetwork", "off", func(o *Options) { o.HostNetwork = false }, restarts},
		{"PriorityClass", "none", func(o *Options) { o.PriorityClass = nil }, restarts},
		{"PriorityClass", "another value", func(o *Options) { o.PriorityClass.Value = 1 }, restarts},
		{"DisruptionBudget", "none", func(o *Options) { o.DisruptionBudget = nil }, restarts},
		{"DisruptionBudget", "another", func(o *Options) { o.DisruptionBudget.MinAvailable = "2" }, restarts},
		{"DisruptionBudget", "an invalid one", func(o *Options) { o.DisruptionBudget.MinAvailable = "x" }, restarts},
		{"DisruptionBudget", "the same without zero", func(o *Options) { o.DisruptionBudget.MaxUnavailable = "" }, nothing},
		{"RedeployGeneration", "another", func(o *Options) { o.RedeployGeneration++ }, restarts},
		{"ServerURL", "another", func(o *Options) { o.ServerURL = "https://other.example.com" }, nothing},
	}
}

func TestGenerationChangesWhenTheEffectiveOptionsDo(t *testing.T) {
	want := Generation(full())
	covered := map[string]bool{}
	for _, c := range changes() {
		t.Run(c.field+" "+c.name, func(t *testing.T) {
			o := full()
			c.apply(&o)
			require.Equal(t, c.effects, Generation(o) != want)
		})
		covered[c.field] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		require.True(t, covered[f.Name], "no case for %s", f.Name)
	}
}

func TestTwoDifferentChangesGiveTwoGenerations(t *testing.T) {
	seen := map[string]string{}
	for _, c := range changes() {
		if !c.effects {
			continue
		}
		o := full()
		c.apply(&o)
		generation := Generation(o)
		require.Empty(t, seen[generation], "%s %s", c.field, c.name)
		seen[generation] = c.field + " " + c.name
	}
}

func TestGenerationStandsInThePodTemplate(t *testing.T) {
	o := full()
	generation := Generation(o)
	require.Regexp(t, `^[0-9a-f]{16}$`, generation)
	require.Equal(t, generation, variable(t, mustPod(t, o), EnvGeneration).Value)
}

func TestADefaultSpelledOutIsNoChange(t *testing.T) {
	o := minimal()
	o.BundleDeploymentWorkers, o.DriftWorkers = "50", "50"
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = "30s", "25s", "10s"
	o.Affinity = affinity(Options{})
	o.DebugLevel = 5
	require.Equal(t, Generation(minimal()), Generation(o))
}

func TestAPriorityClassOfValueZeroIsNotNone(t *testing.T) {
	o := minimal()
	o.PriorityClass = &fleet.PriorityClassSpec{}
	require.NotEqual(t, Generation(minimal()), Generation(o))
}
