package agentmanifest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestDisruptionBudgetTakesTheBoundThatHolds(t *testing.T) {
	for name, c := range map[string]struct {
		minAvailable, maxUnavailable string
		want                         string
	}{
		"neither":                    {"", "", "maxUnavailable 1"},
		"maxUnavailable":             {"", "2", "maxUnavailable 2"},
		"maxUnavailable percent":     {"", "25%", "maxUnavailable 25%"},
		"minAvailable":               {"1", "", "minAvailable 1"},
		"minAvailable percent":       {"100%", "", "minAvailable 100%"},
		"zero gives way":             {"0", "1", "maxUnavailable 1"},
		"zero gives way too":         {"1", "0", "minAvailable 1"},
		"zero percent gives way":     {"0%", "50%", "maxUnavailable 50%"},
		"zero percent gives way too": {"50%", "0%", "minAvailable 50%"},
		"zero and nothing":           {"", "0", "maxUnavailable 0"},
		"nothing and zero":           {"0", "", "minAvailable 0"},
		"two zeros":                  {"0", "0%", "maxUnavailable 0%"},
		"spelled oddly":              {"007", "00", "minAvailable 7"},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.DisruptionBudget = &fleet.PodDisruptionBudgetSpec{MinAvailable: c.minAvailable, MaxUnavailable: c.maxUnavailable}
			objects, err := Scheduling(o)
			require.NoError(t, err)
			require.Len(t, objects, 1)
			pdb := objects[0].(*policyv1.PodDisruptionBudget)
			require.Equal(t, "fleet-agent-pod-disruption-budget", pdb.Name)
			require.Equal(t, o.Namespace, pdb.Namespace)
			require.Equal(t, map[string]string{"app": "fleet-agent"}, pdb.Spec.Selector.MatchLabels)
			require.Equal(t, ptr(policyv1.AlwaysAllow), pdb.Spec.UnhealthyPodEvictionPolicy)
			require.Equal(t, c.want, boundOf(t, pdb.Spec))
		})
	}
}

func boundOf(t *testing.T, spec policyv1.PodDisruptionBudgetSpec) string {
	t.Helper()
	if spec.MinAvailable != nil {
		require.Nil(t, spec.MaxUnavailable)
		return "minAvailable " + spec.MinAvailable.String()
	}
	return "maxUnavailable " + spec.MaxUnavailable.String()
}

func TestAnInvalidBudgetNamesItsField(t *testing.T) {
	const path = "spec.agentSchedulingCustomization.podDisruptionBudget"
	for name, c := range map[string]struct{ minAvailable, maxUnavailable, field string }{
		"both":         {"1", "1", path + ": "},
		"both percent": {"50%", "1", path + ": "},
		"word":         {"one", "", path + ".minAvailable"},
		"negative":     {"", "-1", path + ".maxUnavailable"},
		"signed":       {"", "+1", path + ".maxUnavailable"},
		"above 100 %":  {"", "101%", path + ".maxUnavailable"},
		"only percent": {"%", "", path + ".minAvailable"},
		"two percents": {"1%%", "", path + ".minAvailable"},
		"space":        {" 1", "", path + ".minAvailable"},
		"too large":    {"2147483648", "", path + ".minAvailable"},
		"fraction":     {"0.5", "", path + ".minAvailable"},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.DisruptionBudget = &fleet.PodDisruptionBudgetSpec{MinAvailable: c.minAvailable, MaxUnavailable: c.maxUnavailable}
			_, err := Scheduling(o)
			require.ErrorContains(t, err, c.field)
			_, err = Objects(o)
			require.ErrorContains(t, err, c.field)
		})
	}
}

func TestPriorityClassIsTheClusters(t *testing.T) {
	for name, spec := range map[string]fleet.PriorityClassSpec{
		"zero":     {},
		"policy":   {Value: 1000, PreemptionPolicy: ptr(corev1.PreemptLowerPriority)},
		"largest":  {Value: math.MaxInt32, PreemptionPolicy: ptr(corev1.PreemptNever)},
		"smallest": {Value: math.MinInt32},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.PriorityClass = &spec
			objects, err := Scheduling(o)
			require.NoError(t, err)
			require.Len(t, objects, 1)
			class := objects[0].(*schedulingv1.PriorityClass)
			require.Equal(t, "fleet-agent-priority-class", class.Name)
			require.Equal(t, spec.Value, int(class.Value))
			require.Equal(t, spec.PreemptionPolicy, class.PreemptionPolicy)
			require.Equal(t, "Priority class for Fleet Agent", class.Description)
		})
	}
}

func TestAnInvalidPriorityClassNamesItsField(t *testing.T) {
	for name, c := range map[string]struct {
		spec  fleet.PriorityClassSpec
		field string
	}{
		"too large": {fleet.PriorityClassSpec{Value: math.MaxInt32 + 1}, "priorityClass.value"},
		"too small": {fleet.PriorityClassSpec{Value: math.MinInt32 - 1}, "priorityClass.value"},
		"policy":    {fleet.PriorityClassSpec{PreemptionPolicy: ptr(corev1.PreemptionPolicy("Often"))}, "priorityClass.preemptionPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.PriorityClass = &c.spec
			_, err := Scheduling(o)
			require.ErrorContains(t, err, "spec.agentSchedulingCustomization."+c.field)
		})
	}
}

func TestWithoutSchedulingThereIsNone(t *testing.T) {
	objects, err := Scheduling(minimal())
	require.NoError(t, err)
	require.Empty(t, objects)
}
