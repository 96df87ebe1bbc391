package badinput_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Settings of a Cluster that no agent could run with.
func TestAgentSettingsThatCannotBeAppliedAreNamedAndHeal(t *testing.T) {
	b := ofTheBed(t)
	tb := b.table(t, "bad-options", append(optionRows(), lateRows()...))
	tb.give(t)
	tb.sayWhatIsWrong(t)
	tb.rest(t, 2*importCalls*len(lateRows()))
	tb.heal(t)
}

// importCalls is how many calls of the downstream cluster an import makes at most.
const importCalls = 40

// option is a row of a setting that the hub does not even send.
func option(name string, change func(*fleet.ClusterSpec), says ...string) row {
	return row{name: name, spoil: spec(change), reason: "InvalidAgentOptions", says: says}
}

func optionRows() []row {
	env := func(vars ...corev1.EnvVar) func(*fleet.ClusterSpec) {
		return func(s *fleet.ClusterSpec) { s.AgentEnvVars = vars }
	}
	quantity := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(text)}
	}
	rows := []row{
		option("namespace-in-capitals", func(s *fleet.ClusterSpec) { s.AgentNamespace = "Agents" }, "spec.agentNamespace", "Agents"),
		option("long-namespace", func(s *fleet.ClusterSpec) { s.AgentNamespace = strings.Repeat("n", 253) }, "spec.agentNamespace", "63"),
		option("reserved-variable", env(corev1.EnvVar{Name: "NAMESPACE", Value: marker}), "spec.agentEnvVars[NAMESPACE]", "take the variable out"),
		option("variable-without-name", env(corev1.EnvVar{Value: marker}), "spec.agentEnvVars", "name"),
		option("variable-with-equals", env(corev1.EnvVar{Name: "A=" + marker}), "spec.agentEnvVars", "name"),
		option("variable-with-control", env(corev1.EnvVar{Name: "A", Value: "a\x1b" + marker}), "spec.agentEnvVars[A].value", "control character"),
		option("variable-of-two-sources", env(corev1.EnvVar{Name: "A", Value: marker, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}), "spec.agentEnvVars[A].valueFrom"),
		option("interval-that-is-a-word", env(corev1.EnvVar{Name: "HEARTBEAT_INTERVAL", Value: marker}), "spec.agentEnvVars[HEARTBEAT_INTERVAL].value", "60s"),
		option("election-that-cannot-be", env(corev1.EnvVar{Name: "CATTLE_ELECTION_LEASE_DURATION", Value: "1s"}), "spec.agentEnvVars[CATTLE_ELECTION_LEASE_DURATION].value"),
		option("toleration", func(s *fleet.ClusterSpec) {
			s.AgentTolerations = []corev1.Toleration{{Key: "k", Operator: "Sometimes"}}
		}, "spec.agentTolerations[k].operator", "Exists"),
		option("request-above-limit", func(s *fleet.ClusterSpec) {
			s.AgentResources = &corev1.ResourceRequirements{Requests: quantity("2Gi"), Limits: quantity("1Gi")}
		}, "spec.agentResources.requests[memory]", "1Gi"),
		option("two-budgets", func(s *fleet.ClusterSpec) {
			s.AgentSchedulingCustomization = &fleet.AgentSchedulingCustomization{PodDisruptionBudget: &fleet.PodDisruptionBudgetSpec{MinAvailable: "1", MaxUnavailable: "1"}}
		}, "spec.agentSchedulingCustomization.podDisruptionBudget"),
		option("registry-with-password", func(s *fleet.ClusterSpec) { s.PrivateRepoURL = "jane:" + marker + "@registry.example.com" }, "spec.privateRepoURL"),
		option("pull-secret", func(s *fleet.ClusterSpec) { s.AgentPullSecrets = &[]corev1.LocalObjectReference{{Name: "Not A Name"}} }, "spec.agentPullSecrets[Not A Name]"),
	}
	id := option("client-id", func(s *fleet.ClusterSpec) { s.ClientID = "not a client/ID" }, "spec.clientID")
	rows[0].joins, id.joins = true, true
	return append(rows, id)
}

// lateRows are settings that are found out only when an import has begun, by the cluster's API server.
func lateRows() []row {
	return []row{
		{name: "affinity", spoil: spec(func(s *fleet.ClusterSpec) {
			s.AgentAffinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: "Sometimes"}}}},
			}}}
		}), reason: "ImportFailed", says: []string{"ffinity", "Sometimes", "bad-options/affinity", "tries again by itself"}, joins: true},
	}
}

// labelled gives a Cluster many labels.
func labelled(count, size int) func(*input) {
	return func(in *input) {
		in.labels = map[string]string{}
		for i := range count {
			prefix := strings.Repeat("p", min(63, size)) + "." + strings.Repeat("q", min(63, size)) + ".example.com/"
			in.labels[prefix+fmt.Sprintf("%0*d", min(63, max(size, 6)), i)] = strings.Repeat("v", min(63, size))
		}
	}
}
