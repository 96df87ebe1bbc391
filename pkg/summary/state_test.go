package summary

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func condition(kind string, status corev1.ConditionStatus, message string) genericcondition.GenericCondition {
	return genericcondition.GenericCondition{Type: kind, Status: status, Message: message}
}

func deployment(staged, wanted, applied string, ready, nonModified bool, list ...genericcondition.GenericCondition) *fleet.BundleDeployment {
	return &fleet.BundleDeployment{
		Spec:   fleet.BundleDeploymentSpec{StagedDeploymentID: staged, DeploymentID: wanted},
		Status: fleet.BundleDeploymentStatus{AppliedDeploymentID: applied, Ready: ready, NonModified: nonModified, Conditions: list},
	}
}

func TestState(t *testing.T) {
	failed := condition("Deployed", corev1.ConditionFalse, "no such kind")
	for name, test := range map[string]struct {
		bd   *fleet.BundleDeployment
		want fleet.BundleState
	}{
		"no deployment":                            {nil, fleet.Pending},
		"staged and never released":                {deployment("a", "", "", false, false), fleet.Pending},
		"not applied":                              {deployment("a", "a", "", false, false), fleet.WaitApplied},
		"an older one is applied":                  {deployment("b", "b", "a", true, true), fleet.WaitApplied},
		"it could not be applied":                  {deployment("b", "b", "a", true, true, failed), fleet.ErrApplied},
		"an old error of this version":             {deployment("a", "a", "a", true, true, failed), fleet.Ready},
		"not ready":                                {deployment("a", "a", "a", false, true), fleet.NotReady},
		"not ready comes before a newer one":       {deployment("b", "a", "a", false, true), fleet.NotReady},
		"a newer one is staged":                    {deployment("b", "a", "a", true, true), fleet.OutOfSync},
		"a newer one is staged, and it is changed": {deployment("b", "a", "a", true, false), fleet.OutOfSync},
		"changed by others":                        {deployment("a", "a", "a", true, false), fleet.Modified},
		"ready":                                    {deployment("a", "a", "a", true, true), fleet.Ready},
	} {
		assert.Equal(t, test.want, State(test.bd), name)
	}
}

func TestStateForANewVersionIsNotThatOfTheOldOne(t *testing.T) {
	bd := deployment("b", "a", "a", true, true)
	assert.Equal(t, fleet.OutOfSync, State(bd))
	assert.Equal(t, fleet.WaitApplied, StateFor(bd, "b"))
	assert.Equal(t, fleet.Pending, StateFor(nil, "b"))
}

func TestMessage(t *testing.T) {
	deployed := condition("Deployed", corev1.ConditionFalse, "no such kind")
	installed := condition("Installed", corev1.ConditionFalse, "install failed")
	monitored := condition("Monitored", corev1.ConditionFalse, "forbidden")
	for name, test := range map[string]struct {
		bd   *fleet.BundleDeployment
		want string
	}{
		"none":                              {nil, ""},
		"nothing said":                      {deployment("a", "a", "a", true, true), ""},
		"deployed comes first":              {deployment("a", "a", "a", true, true, monitored, installed, deployed), "no such kind"},
		"installed, if it is this version":  {deployment("a", "a", "a", true, true, monitored, installed), "install failed"},
		"not installed of an older version": {deployment("b", "b", "a", true, true, monitored, installed), "forbidden"},
	} {
		assert.Equal(t, test.want, Message(test.bd), name)
	}
}

func TestDisplay(t *testing.T) {
	bd := deployment("a", "a", "", false, false,
		condition("Deployed", corev1.ConditionFalse, "no such\nkind"), condition("Monitored", corev1.ConditionTrue, ""))
	assert.Equal(t, fleet.BundleDeploymentDisplay{Deployed: "Error: no such kind", Monitored: "True", State: "ErrApplied"}, Display(bd))
	assert.Equal(t, fleet.BundleDeploymentDisplay{State: "WaitApplied"}, Display(deployment("a", "a", "", false, false)))
}

func TestWorst(t *testing.T) {
	assert.Empty(t, Worst())
	assert.Empty(t, Worst(fleet.Ready, fleet.Ready), "a display shows nothing where all is well")
	assert.Equal(t, fleet.NotReady, Worst(fleet.Ready, fleet.NotReady))
	assert.Equal(t, fleet.Modified, Worst(fleet.OutOfSync, fleet.Modified, fleet.Pending))
	assert.Equal(t, fleet.ErrApplied, Worst(fleet.ErrApplied, fleet.WaitApplied))
}
