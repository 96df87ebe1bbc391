package agentmanifest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const priorityClassDescription = "Priority class for Fleet Agent"

// Scheduling is the agent's PriorityClass and PodDisruptionBudget, each where it is asked for. Import and bundle apply them
// before Objects: a PriorityClass must exist before the Deployment that names it.
func Scheduling(o Options) ([]runtime.Object, error) {
	if errs := validateScheduling(o); len(errs) > 0 {
		return nil, fmt.Errorf("agent in namespace %q: %w", o.Namespace, saying(errs))
	}
	var out []runtime.Object
	if o.PriorityClass != nil {
		out = append(out, priorityClass(o.PriorityClass.DeepCopy()))
	}
	if o.DisruptionBudget != nil {
		minAvailable, maxUnavailable, err := budget(*o.DisruptionBudget)
		if err != nil {
			return nil, fmt.Errorf("agent in namespace %q: %w", o.Namespace, err)
		}
		out = append(out, disruptionBudget(o.Namespace, minAvailable, maxUnavailable))
	}
	return out, nil
}

func priorityClass(spec *fleet.PriorityClassSpec) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{
		TypeMeta:         metav1.TypeMeta{APIVersion: schedulingv1.SchemeGroupVersion.String(), Kind: "PriorityClass"},
		ObjectMeta:       metav1.ObjectMeta{Name: names.AgentPriorityClass},
		Value:            int32(spec.Value),
		Description:      priorityClassDescription,
		PreemptionPolicy: spec.PreemptionPolicy,
	}
}

func disruptionBudget(namespace string, minAvailable, maxUnavailable *intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1.SchemeGroupVersion.String(), Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.AgentDisruptionBudget},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:   minAvailable,
			MaxUnavailable: maxUnavailable,
			Selector:       &metav1.LabelSelector{MatchLabels: podLabels()},
			// A pod that is not Ready protects nothing: it must never hold up the drain of its node.
			UnhealthyPodEvictionPolicy: ptr(policyv1.AlwaysAllow),
		},
	}
}

// budget picks the bound that holds; exactly one is returned. A bound that is not zero goes before one that is; of two
// zeros maxUnavailable counts. With nothing given one agent may be away at a time: zero would block every drain.
func budget(spec fleet.PodDisruptionBudgetSpec) (minAvailable, maxUnavailable *intstr.IntOrString, err *field.Error) {
	if minAvailable, err = bound("minAvailable", spec.MinAvailable); err != nil {
		return nil, nil, err
	}
	if maxUnavailable, err = bound("maxUnavailable", spec.MaxUnavailable); err != nil {
		return nil, nil, err
	}
	switch {
	case minAvailable == nil && maxUnavailable == nil:
		return nil, ptr(intstr.FromInt32(1)), nil
	case minAvailable == nil:
		return nil, maxUnavailable, nil
	case maxUnavailable == nil:
		return minAvailable, nil, nil
	case isZero(minAvailable):
		return nil, maxUnavailable, nil
	case isZero(maxUnavailable):
		return minAvailable, nil, nil
	}
	return nil, nil, field.Forbidden(budgetPath, fmt.Sprintf("minAvailable %q and maxUnavailable %q exclude each other: "+
		`leave one of them empty or "0"`, spec.MinAvailable, spec.MaxUnavailable))
}

// bound reads a number of pods or a percentage; nil if there is none.
func bound(name, text string) (*intstr.IntOrString, *field.Error) {
	if text == "" {
		return nil, nil
	}
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || percent && n > 100 {
		return nil, field.Invalid(budgetPath.Child(name), text,
			`must be a number of pods such as "1" or a percentage from "0%" to "100%"`)
	}
	if percent {
		return ptr(intstr.FromString(strconv.FormatUint(n, 10) + "%")), nil
	}
	return ptr(intstr.FromInt32(int32(n))), nil
}

func isZero(b *intstr.IntOrString) bool {
	return *b == intstr.FromInt32(0) || *b == intstr.FromString("0%")
}

func fitsInt32(v int) bool {
	return v >= math.MinInt32 && v <= math.MaxInt32
}
