package agentmanifest

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

// What an option means when nothing is given.
const (
	defaultReplicas      = 1
	defaultLeaseDuration = "30s"
	defaultRenewDeadline = "25s"
	defaultRetryPeriod   = "10s"
)

// Options is everything that an agent's objects depend on. Effective computes it from a Cluster and the hub's settings.
type Options struct {
	// Namespace is where the agent runs.
	Namespace string
	// Scope is the Cluster's own agent namespace, empty where the agent runs in the default one.
	Scope string

	Image                 string
	PullPolicy            string
	SystemDefaultRegistry string
	PrivateRepoURL        string
	PullSecrets           []corev1.LocalObjectReference

	// Replicas below one mean one: an agent that is scaled to nothing cannot be brought back by its own bundle.
	Replicas int32
	// CheckinInterval of zero leaves the choice to the agent.
	CheckinInterval         time.Duration
	HeartbeatInterval       time.Duration
	BundleDeploymentWorkers string
	DriftWorkers            string
	// LeaseDuration, RenewDeadline and RetryPeriod tune the agent's leader election; Go durations as text.
	LeaseDuration, RenewDeadline, RetryPeriod string
	// GVKErrorMapping is handed on as it is, unless EnvVars sets the same variable.
	GVKErrorMapping string

	Debug                  bool
	DebugLevel             int
	DisableSecurityContext bool

	EnvVars     []corev1.EnvVar
	Tolerations []corev1.Toleration
	// Affinity replaces the built-in preference when it is set; an empty one removes it.
	Affinity    *corev1.Affinity
	Resources   *corev1.ResourceRequirements
	HostNetwork bool

	PriorityClass    *fleet.PriorityClassSpec
	DisruptionBudget *fleet.PodDisruptionBudgetSpec

	RedeployGeneration int64
	// ServerURL goes into the bootstrap secret, not into the pod: a new one restarts no agent.
	ServerURL string
}

// Normalize returns a deep copy of o with defaults filled in, lists that mean a set in one fixed order, and nil for
// empty. Environment variables keep their order, since a later one may refer to an earlier one.
func Normalize(o Options) Options {
	o.Replicas = max(o.Replicas, defaultReplicas)
	o.BundleDeploymentWorkers = cmp.Or(o.BundleDeploymentWorkers, config.DefaultAgentWorkers)
	o.DriftWorkers = cmp.Or(o.DriftWorkers, config.DefaultAgentWorkers)
	o.HeartbeatInterval = cmp.Or(o.HeartbeatInterval, config.DefaultHeartbeatInterval)
	o.LeaseDuration = cmp.Or(o.LeaseDuration, defaultLeaseDuration)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, defaultRenewDeadline)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, defaultRetryPeriod)
	if !o.Debug {
		o.DebugLevel = 0
	}
	o.EnvVars = lastOfEachName(o.EnvVars)
	o.Tolerations = sortTolerations(o.Tolerations)
	o.PullSecrets = sortPullSecrets(o.PullSecrets)
	o.Affinity = o.Affinity.DeepCopy()
	o.Resources = o.Resources.DeepCopy()
	o.PriorityClass = o.PriorityClass.DeepCopy()
	o.DisruptionBudget = o.DisruptionBudget.DeepCopy()
	return o
}

// lastOfEachName drops what a later variable of the same name overrides, as the kubelet does. Lists of variables are
// merged by name when a Deployment is patched; with a name that occurs twice that merge goes wrong.
func lastOfEachName(vars []corev1.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for i := range vars {
		overridden := slices.ContainsFunc(vars[i+1:], func(later corev1.EnvVar) bool {
			return later.Name == vars[i].Name
		})
		if !overridden {
			out = append(out, *vars[i].DeepCopy())
		}
	}
	return out
}

func sortTolerations(in []corev1.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for i := range in {
		out = append(out, *in[i].DeepCopy())
	}
	slices.SortFunc(out, compareTolerations)
	return slices.CompactFunc(out, func(a, b corev1.Toleration) bool { return equality.Semantic.DeepEqual(a, b) })
}

func compareTolerations(a, b corev1.Toleration) int {
	return cmp.Or(
		cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.Operator, b.Operator),
		cmp.Compare(a.Effect, b.Effect),
		compareSeconds(a.TolerationSeconds, b.TolerationSeconds),
	)
}

func compareSeconds(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

func sortPullSecrets(in []corev1.LocalObjectReference) []corev1.LocalObjectReference {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b corev1.LocalObjectReference) int { return cmp.Compare(a.Name, b.Name) })
	out = slices.Compact(out)
	if len(out) == 0 {
		return nil
	}
	return out
}
