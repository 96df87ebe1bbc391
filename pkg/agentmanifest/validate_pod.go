package agentmanifest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateEnv says which variable is wrong, by its name: a value may be a secret, such as a proxy's password.
func validateEnv(o Options) (errs field.ErrorList) {
	for _, v := range o.EnvVars {
		name, _, assigned := strings.Cut(v.Name, "=")
		path := specPath.Child("agentEnvVars").Key(name)
		switch {
		case name == "" || assigned:
			errs = append(errs, field.Forbidden(path.Child("name"),
				`must not be empty, nor contain "=": what comes after it belongs into value`))
		case len(validation.IsRelaxedEnvVarName(name)) > 0:
			errs = append(errs, field.Forbidden(path.Child("name"), "must consist of printable ASCII characters"))
		case slices.Contains(reservedEnv, v.Name):
			errs = append(errs, field.Forbidden(path,
				"the agent is told who it is by "+strings.Join(reservedEnv, ", ")+": take the variable out of the list"))
		case strings.ContainsFunc(v.Value, unwritable) || unwritableIn(v.ValueFrom):
			errs = append(errs, field.Forbidden(path.Child("value"), "has a control character: take it out"))
		case v.ValueFrom != nil && v.Value != "":
			errs = append(errs, field.Forbidden(path.Child("valueFrom"), "leave out either it or value"))
		case v.ValueFrom != nil && sources(v.ValueFrom) != 1:
			errs = append(errs, field.Forbidden(path.Child("valueFrom"), "must name one source, and no more"))
		}
	}
	if strings.ContainsFunc(o.GVKErrorMapping, unwritable) {
		errs = append(errs, field.Forbidden(field.NewPath(EnvGVKErrorMapping), "has a control character: take it out"))
	}
	return errs
}

// unwritable is what YAML cannot carry, or alters, so that import and bundle would differ; and NUL, which ends a variable.
func unwritable(r rune) bool {
	return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) || r == 0xFFFE || r == 0xFFFF
}

func sources(from *corev1.EnvVarSource) (n int) {
	for _, set := range []bool{
		from.FieldRef != nil, from.ResourceFieldRef != nil, from.ConfigMapKeyRef != nil,
		from.SecretKeyRef != nil, from.FileKeyRef != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// validateAffinity leaves its grammar to the API server.
func validateAffinity(o Options) field.ErrorList {
	if unwritableIn(o.Affinity) {
		return field.ErrorList{field.Forbidden(specPath.Child("agentAffinity"), "has a control character: take it out")}
	}
	return nil
}

func validateTolerations(o Options) (errs field.ErrorList) {
	for i := range o.Tolerations {
		errs = append(errs, validateToleration(o.Tolerations[i])...)
	}
	return errs
}

// validateToleration names a toleration by its key: the list is sorted, so that its index says nothing to a user.
func validateToleration(t corev1.Toleration) (errs field.ErrorList) {
	path := specPath.Child("agentTolerations").Key(t.Key)
	if t.Key != "" {
		for _, problem := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), t.Key, problem))
		}
	} else if t.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), t.Operator,
			"without a key it must be Exists, which tolerates every taint"))
	}
	errs = append(errs, validateTolerationValue(path, t)...)
	switch t.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		errs = append(errs, field.NotSupported(path.Child("effect"), t.Effect, []corev1.TaintEffect{
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), t.Effect,
			"must be NoExecute where tolerationSeconds is set: change it, or take tolerationSeconds out"))
	}
	return errs
}

func validateTolerationValue(path *field.Path, t corev1.Toleration) (errs field.ErrorList) {
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		for _, problem := range validation.IsValidLabelValue(t.Value) {
			errs = append(errs, field.Invalid(path.Child("value"), t.Value, problem))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			errs = append(errs, field.Invalid(path.Child("value"), t.Value, "must be empty where the operator is Exists"))
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		if _, err := strconv.ParseInt(t.Value, 10, 64); err != nil {
			errs = append(errs, field.Invalid(path.Child("value"), t.Value, "must be a number where the operator is Lt or Gt"))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("operator"), t.Operator, []corev1.TolerationOperator{
			corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
	}
	return errs
}

func validateResources(o Options) (errs field.ErrorList) {
	if o.Resources == nil {
		return nil
	}
	path := specPath.Child("agentResources")
	errs = append(errs, validateQuantities(path.Child("limits"), o.Resources.Limits)...)
	errs = append(errs, validateQuantities(path.Child("requests"), o.Resources.Requests)...)
	for _, name := range slices.Sorted(maps.Keys(o.Resources.Requests)) {
		request := o.Resources.Requests[name]
		if limit, ok := o.Resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				"must not be above the limit, "+limit.String()))
		}
	}
	if len(o.Resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(path.Child("claims"), "the agent's pod has no resource claims: take them out"))
	}
	return errs
}

func validateQuantities(path *field.Path, list corev1.ResourceList) (errs field.ErrorList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		for _, problem := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(path.Key(string(name)), string(name), problem))
		}
		quantity := list[name]
		if quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(path.Key(string(name)), quantity.String(), "must not be negative"))
		}
	}
	return errs
}

func validateScheduling(o Options) (errs field.ErrorList) {
	if class := o.PriorityClass; class != nil {
		if !fitsInt32(class.Value) {
			errs = append(errs, field.Invalid(classPath.Child("value"), class.Value, "must fit into 32 bits"))
		}
		policies := []corev1.PreemptionPolicy{corev1.PreemptNever, corev1.PreemptLowerPriority}
		if p := class.PreemptionPolicy; p != nil && !slices.Contains(policies, *p) {
			errs = append(errs, field.NotSupported(classPath.Child("preemptionPolicy"), *p, policies))
		}
	}
	if o.DisruptionBudget != nil {
		if _, _, err := budget(*o.DisruptionBudget); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
