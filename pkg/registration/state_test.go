package registration

import (
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func condition(kind string, status corev1.ConditionStatus, message string) genericcondition.GenericCondition {
	return genericcondition.GenericCondition{Type: kind, Status: status, Message: message}
}

// R20: one function for all ways of joining; a cluster is judged by its conditions, not by how it came.
func TestStateOfACluster(t *testing.T) {
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	registered := condition(fleet.ClusterConditionRegistered, yes, "")
	for _, test := range []struct {
		what       string
		conditions []genericcondition.GenericCondition
		state      string
		waitsFor   string
	}{
		{"nothing is known", nil, StateRegistering, "waiting for the agent's first heartbeat"},
		{"an agent is on its way", []genericcondition.GenericCondition{condition(fleet.ClusterConditionRegistered, no, "waiting for approval")},
			StateRegistering, "waiting for approval"},
		{"the namespace is taken", []genericcondition.GenericCondition{condition(fleet.ClusterConditionProcessed, no, "taken"), registered}, StateBlocked, "taken"},
		{"the import has no URL", []genericcondition.GenericCondition{condition(fleet.ClusterConditionImported, no, "no URL")}, StateBlocked, "no URL"},
		{"an import to heal fails, the agent works", []genericcondition.GenericCondition{registered, condition(fleet.ClusterConditionImported, no, "timeout")},
			StateConnected, "timeout"},
		{"it works", []genericcondition.GenericCondition{registered, condition(fleet.ClusterConditionAgentConnected, yes, "ignored")}, StateConnected, ""},
		{"nobody knows yet", []genericcondition.GenericCondition{registered, condition(fleet.ClusterConditionAgentConnected, unknown, "")}, StateConnected, ""},
		{"it is silent and another hub has it", []genericcondition.GenericCondition{
			registered, condition(fleet.ClusterConditionAgentConnected, no, "since noon"), condition(fleet.ClusterConditionImported, no, "taken over"),
		}, StateSilent, "since noon; taken over"},
		{"it is silent", []genericcondition.GenericCondition{registered, condition(fleet.ClusterConditionAgentConnected, no, "since noon")}, StateSilent, "since noon"},
		{"its credential is dead", []genericcondition.GenericCondition{registered, condition(fleet.ClusterConditionAgentConnected, no, "since noon"),
			condition(fleet.ClusterConditionCredentialValid, no, "expired")}, StateRefused, "expired"},
	} {
		for _, secret := range []string{"", "kubeconfig"} {
			c := cluster("fleet-default", "edge")
			c.Spec.KubeConfigSecret, c.Status.Conditions = secret, test.conditions
			state, waitsFor := StateOf(c)
			assert.Equal(t, test.state, state, test.what)
			assert.Equal(t, test.waitsFor, waitsFor, test.what)
		}
	}
}

func TestStateOfAClusterThatGoes(t *testing.T) {
	c := cluster("fleet-default", "edge")
	c.Status.Conditions = []genericcondition.GenericCondition{condition(fleet.ClusterConditionRegistered, corev1.ConditionTrue, "")}
	c.Spec.Revoked = true
	state, _ := StateOf(c)
	assert.Equal(t, StateRevoked, state)
	c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	state, waitsFor := StateOf(c)
	assert.Equal(t, StateLeaving, state)
	assert.Equal(t, "its objects on the hub are being removed", waitsFor)
	leaving := condition(fleet.ClusterConditionProcessed, corev1.ConditionFalse, "Leaving")
	leaving.Message = "two bundles are left"
	c.Status.Conditions = append(c.Status.Conditions, leaving)
	_, waitsFor = StateOf(c)
	assert.Equal(t, "two bundles are left", waitsFor)
}
