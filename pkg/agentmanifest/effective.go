package agentmanifest

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
)

// Settings are the inputs that hold for all agents of a hub: its configuration and its environment.
type Settings struct {
	SystemNamespace string

	// Image is the configured one; DefaultImage, of the hub's own version, stands in where there is none.
	Image, DefaultImage   string
	PullPolicy            string
	SystemDefaultRegistry string
	// PullSecrets lie in the system namespace and are copied to the agent where a Cluster does not name its own.
	PullSecrets []corev1.LocalObjectReference

	Replicas                                  int32
	CheckinInterval, HeartbeatInterval        time.Duration
	BundleDeploymentWorkers, DriftWorkers     string
	LeaseDuration, RenewDeadline, RetryPeriod string
	GVKErrorMapping                           string

	// PropagateDebug hands the hub's own debug settings on to agents. Without it the other three have no effect.
	PropagateDebug         bool
	Debug                  bool
	DebugLevel             int
	DisableSecurityContext bool

	ServerURL string
}

// WithConfig returns the settings with everything that the hub's configuration decides. What comes from the process's
// environment and flags stays.
func (s Settings) WithConfig(cfg config.Config) Settings {
	s.Image = cfg.AgentImage
	s.PullPolicy = cfg.AgentImagePullPolicy
	s.SystemDefaultRegistry = cfg.SystemDefaultRegistry
	s.PullSecrets = cfg.ImagePullSecrets
	s.CheckinInterval = cfg.AgentCheckinInterval.Duration
	s.HeartbeatInterval = cfg.AgentHeartbeatInterval.Duration
	s.BundleDeploymentWorkers = cfg.AgentWorkers.BundleDeployment
	s.DriftWorkers = cfg.AgentWorkers.Drift
	return s
}

// Effective merges a Cluster's wishes into the hub's settings. propagate says that the pull secrets are the hub's, whose
// content must be copied to the agent's namespace; those that a Cluster names are there already. The options are returned
// even where they are invalid, together with what is wrong.
func Effective(cluster *fleet.Cluster, cfg Settings) (o Options, propagate bool, err error) {
	if cluster == nil {
		return Options{}, false, errors.New("agent options: no cluster given")
	}
	o = fromSettings(cfg)
	o.Namespace = cmp.Or(ownNamespace(cluster), o.Namespace)
	propagate = fromSpec(&o, cluster.Spec)
	o = Normalize(o)
	if err := ValidateOptions(o); err != nil {
		return o, propagate, fmt.Errorf("agent of cluster %s/%s: %w", cluster.Namespace, cluster.Name, err)
	}
	return o, propagate, nil
}

// ownNamespace is where the agent of a cluster runs that joined by itself, as it reports it: the chart was installed there,
// and another agent beside it would be one too many. Where the hub puts the agent, it knows.
func ownNamespace(cluster *fleet.Cluster) string {
	namespace := cluster.Status.Agent.Namespace
	if cluster.Spec.KubeConfigSecret != "" || len(validation.IsDNS1123Label(namespace)) > 0 {
		return ""
	}
	return namespace
}

func fromSettings(cfg Settings) Options {
	o := Options{
		Namespace:               cfg.SystemNamespace,
		Image:                   cmp.Or(cfg.Image, cfg.DefaultImage),
		PullPolicy:              cfg.PullPolicy,
		SystemDefaultRegistry:   cfg.SystemDefaultRegistry,
		PullSecrets:             cfg.PullSecrets,
		Replicas:                cfg.Replicas,
		CheckinInterval:         cfg.CheckinInterval,
		HeartbeatInterval:       cfg.HeartbeatInterval,
		BundleDeploymentWorkers: cfg.BundleDeploymentWorkers,
		DriftWorkers:            cfg.DriftWorkers,
		LeaseDuration:           cfg.LeaseDuration,
		RenewDeadline:           cfg.RenewDeadline,
		RetryPeriod:             cfg.RetryPeriod,
		GVKErrorMapping:         cfg.GVKErrorMapping,
		ServerURL:               cfg.ServerURL,
	}
	if cfg.PropagateDebug {
		o.Debug = cfg.Debug
		o.DebugLevel = cfg.DebugLevel
		o.DisableSecurityContext = cfg.DisableSecurityContext
	}
	return o
}

func fromSpec(o *Options, spec fleet.ClusterSpec) (propagate bool) {
	o.Namespace = cmp.Or(spec.AgentNamespace, o.Namespace)
	o.Scope = spec.AgentNamespace
	o.PrivateRepoURL = spec.PrivateRepoURL
	o.EnvVars = spec.AgentEnvVars
	o.Tolerations = spec.AgentTolerations
	o.Affinity = spec.AgentAffinity
	o.Resources = spec.AgentResources
	o.HostNetwork = spec.HostNetwork != nil && *spec.HostNetwork
	o.RedeployGeneration = spec.RedeployAgentGeneration
	if custom := spec.AgentSchedulingCustomization; custom != nil {
		o.PriorityClass = custom.PriorityClass
		o.DisruptionBudget = custom.PodDisruptionBudget
	}
	if spec.AgentPullSecrets == nil {
		return true
	}
	o.PullSecrets = *spec.AgentPullSecrets
	return false
}
