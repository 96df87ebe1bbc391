package agentmanifest

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Where the values come from: the Cluster's spec, the hub's configuration, or the hub's environment.
var (
	specPath    = field.NewPath("spec")
	budgetPath  = specPath.Child("agentSchedulingCustomization", "podDisruptionBudget")
	classPath   = specPath.Child("agentSchedulingCustomization", "priorityClass")
	configPath  = field.NewPath("config")
	workersPath = configPath.Child("agentWorkers")
)

// ValidateOptions finds what an API server would refuse, or an agent could not start with. It names the field to correct,
// and never the value of an environment variable.
func ValidateOptions(o Options) error {
	o = Normalize(o)
	var errs field.ErrorList
	for _, check := range []func(Options) field.ErrorList{
		validateNamespace, validateImage, validateProcess, validateElection, validateIntervals, validatePullSecrets, validateEnv,
		validateTolerations, validateAffinity, validateResources, validateScheduling,
	} {
		errs = append(errs, check(o)...)
	}
	return saying(errs)
}

func validateNamespace(o Options) (errs field.ErrorList) {
	path := specPath.Child("agentNamespace")
	for _, problem := range validation.IsDNS1123Label(o.Namespace) {
		errs = append(errs, field.Invalid(path, o.Namespace, problem))
	}
	if o.Scope != "" && o.Scope != o.Namespace {
		errs = append(errs, field.Invalid(path, o.Scope, "the agent's scope is its own namespace or empty"))
	}
	return errs
}

func validateImage(o Options) (errs field.ErrorList) {
	switch {
	case o.Image == "":
		errs = append(errs, field.Required(configPath.Child("agentImage"), "set it to the agent's image"))
	case !plausible(o.Image):
		errs = append(errs, field.Invalid(configPath.Child("agentImage"), o.Image, "is not an image reference"))
	}
	// Not quoted: a URL may carry a password.
	if prefix := registry(o.PrivateRepoURL); !plausible(prefix) || strings.Contains(prefix, "@") {
		errs = append(errs, field.Forbidden(specPath.Child("privateRepoURL"),
			"must be a host, with a port and a path where needed, such as registry.example.com:5000/mirror"))
	}
	switch corev1.PullPolicy(o.PullPolicy) {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		errs = append(errs, field.NotSupported(configPath.Child("agentImagePullPolicy"), o.PullPolicy,
			[]corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}))
	}
	return errs
}

// plausible leaves the exact grammar of references to the container runtime, which knows it.
func plausible(reference string) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return !strings.ContainsFunc(reference, odd) && !strings.Contains(reference, "://")
}

func validateProcess(o Options) (errs field.ErrorList) {
	for _, interval := range []struct {
		name  string
		value time.Duration
	}{{"agentCheckinInterval", o.CheckinInterval}, {"agentHeartbeatInterval", o.HeartbeatInterval}} {
		if interval.value < 0 {
			errs = append(errs, field.Invalid(configPath.Child(interval.name), interval.value.String(),
				"must not be negative; zero means the default"))
		}
	}
	for _, workers := range []struct{ name, value string }{
		{"bundledeployment", o.BundleDeploymentWorkers}, {"drift", o.DriftWorkers},
	} {
		if n, err := strconv.ParseInt(workers.value, 10, 32); err != nil || n < 1 {
			errs = append(errs, field.Invalid(workersPath.Child(workers.name), workers.value,
				`must be a positive number, written as text such as "50"`))
		}
	}
	if o.DebugLevel < 0 {
		errs = append(errs, field.Invalid(field.NewPath("debug-level"), o.DebugLevel, "must not be negative"))
	}
	return errs
}

func validatePullSecrets(o Options) (errs field.ErrorList) {
	for _, secret := range o.PullSecrets {
		path := specPath.Child("agentPullSecrets").Key(secret.Name).Child("name")
		for _, problem := range validation.IsDNS1123Subdomain(secret.Name) {
			errs = append(errs, field.Invalid(path, secret.Name,
				problem+"; where the Cluster has no list it comes from config.imagePullSecrets"))
		}
	}
	return errs
}
