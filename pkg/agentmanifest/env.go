package agentmanifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Environment variables by which an agent's process is told its options.
const (
	EnvBundleDeploymentWorkers = "BUNDLEDEPLOYMENT_RECONCILER_WORKERS"
	EnvDriftWorkers            = "DRIFT_RECONCILER_WORKERS"
	EnvNamespace               = "NAMESPACE"
	EnvScope                   = "AGENT_SCOPE"
	EnvCheckinInterval         = "CHECKIN_INTERVAL"
	EnvLeaseDuration           = "CATTLE_ELECTION_LEASE_DURATION"
	EnvRetryPeriod             = "CATTLE_ELECTION_RETRY_PERIOD"
	EnvRenewDeadline           = "CATTLE_ELECTION_RENEW_DEADLINE"
	EnvGVKErrorMapping         = "CATTLE_WRANGLER_CHECK_GVK_ERROR_MAPPING"
	EnvHeartbeatInterval       = "HEARTBEAT_INTERVAL"
	EnvPodName                 = "POD_NAME"
	// EnvGeneration is what Generation returns: the only thing that rolls an agent whose options stay as they are.
	EnvGeneration = "GENERATION"
)

// reservedEnv tells an agent who it is. A Cluster must not override it; the rest it may.
var reservedEnv = []string{EnvGeneration, EnvNamespace, EnvPodName, EnvScope}

// environment is the built-in variables, then the user's. A built-in one that the user sets is left out, because no name
// may occur twice.
func environment(o Options, generation string) []corev1.EnvVar {
	vars := slices.DeleteFunc(builtinEnv(o, generation), func(builtin corev1.EnvVar) bool {
		return slices.ContainsFunc(o.EnvVars, func(own corev1.EnvVar) bool { return own.Name == builtin.Name })
	})
	return append(vars, o.EnvVars...)
}

func builtinEnv(o Options, generation string) []corev1.EnvVar {
	vars := []corev1.EnvVar{
		{Name: EnvBundleDeploymentWorkers, Value: o.BundleDeploymentWorkers},
		{Name: EnvDriftWorkers, Value: o.DriftWorkers},
		fromField(EnvNamespace, "metadata.namespace"),
		{Name: EnvScope, Value: o.Scope},
		{Name: EnvCheckinInterval, Value: o.CheckinInterval.String()},
		{Name: EnvLeaseDuration, Value: o.LeaseDuration},
		{Name: EnvRetryPeriod, Value: o.RetryPeriod},
		{Name: EnvRenewDeadline, Value: o.RenewDeadline},
	}
	if o.GVKErrorMapping != "" {
		vars = append(vars, corev1.EnvVar{Name: EnvGVKErrorMapping, Value: o.GVKErrorMapping})
	}
	return append(vars,
		corev1.EnvVar{Name: EnvHeartbeatInterval, Value: o.HeartbeatInterval.String()},
		fromField(EnvPodName, "metadata.name"),
		corev1.EnvVar{Name: EnvGeneration, Value: generation},
	)
}

func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		// apiVersion is what the API server fills in; written out, a comparison with the live object finds nothing.
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
	}}
}
