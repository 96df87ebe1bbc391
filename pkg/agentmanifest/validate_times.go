package agentmanifest

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateElection holds the agent to what client-go's election demands of its three durations. An agent that is given
// others ends at once, and the hub would learn of it only from its silence.
func validateElection(o Options) (errs field.ErrorList) {
	lease := electionDuration(&errs, o, EnvLeaseDuration, o.LeaseDuration)
	deadline := electionDuration(&errs, o, EnvRenewDeadline, o.RenewDeadline)
	retry := electionDuration(&errs, o, EnvRetryPeriod, o.RetryPeriod)
	if len(errs) > 0 || lease == 0 || deadline == 0 || retry == 0 {
		return errs
	}
	if lease <= deadline {
		errs = append(errs, field.Forbidden(sourceOf(o, EnvLeaseDuration), "must be longer than "+
			sourceOf(o, EnvRenewDeadline).String()+", "+deadline.String()))
	}
	if deadline <= retry+retry/5 {
		errs = append(errs, field.Forbidden(sourceOf(o, EnvRenewDeadline), "must be longer than 1.2 times "+
			sourceOf(o, EnvRetryPeriod).String()+", "+retry.String()))
	}
	return errs
}

// hubEnv is where the hub takes what it tells an agent by a variable.
var hubEnv = map[string]string{
	EnvLeaseDuration: "FLEET_AGENT_ELECTION_LEASE_DURATION",
	EnvRenewDeadline: "FLEET_AGENT_ELECTION_RENEW_DEADLINE",
	EnvRetryPeriod:   "FLEET_AGENT_ELECTION_RETRY_PERIOD",
}

// agentDefaults are what an agent takes where a variable is empty.
var agentDefaults = map[string]string{
	EnvLeaseDuration: defaultLeaseDuration, EnvRenewDeadline: defaultRenewDeadline, EnvRetryPeriod: defaultRetryPeriod,
}

// sourceOf is the field to correct: a variable of the Cluster replaces the hub's.
func sourceOf(o Options, name string) *field.Path {
	if ownVariable(o, name) != nil {
		return specPath.Child("agentEnvVars").Key(name).Child("value")
	}
	return field.NewPath(hubEnv[name])
}

// ownVariable is one of the Cluster's, nil where it has none of that name.
func ownVariable(o Options, name string) *corev1.EnvVar {
	for i := range o.EnvVars {
		if o.EnvVars[i].Name == name {
			return &o.EnvVars[i]
		}
	}
	return nil
}

// electionDuration is zero where only the cluster itself knows it.
func electionDuration(errs *field.ErrorList, o Options, name, text string) time.Duration {
	if own := ownVariable(o, name); own != nil {
		if own.ValueFrom != nil {
			return 0
		}
		text = cmp.Or(own.Value, agentDefaults[name])
	}
	d, err := time.ParseDuration(text)
	// A lease keeps whole seconds, so less than one is none.
	if err != nil || d < time.Second {
		*errs = append(*errs, field.Forbidden(sourceOf(o, name), `must be a duration of at least 1s, such as "30s"`))
	}
	return d
}

// validateIntervals holds the Cluster's variables to what an agent can start with.
func validateIntervals(o Options) (errs field.ErrorList) {
	for _, name := range []string{EnvHeartbeatInterval, EnvCheckinInterval} {
		own := ownVariable(o, name)
		if own == nil || own.ValueFrom != nil || own.Value == "" || own.Value == "0" {
			continue
		}
		if d, err := time.ParseDuration(own.Value); err != nil || d < 0 {
			errs = append(errs, field.Forbidden(sourceOf(o, name), `must be a duration such as "60s"; 0 means the default`))
		}
	}
	return errs
}
