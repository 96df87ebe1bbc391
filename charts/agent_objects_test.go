package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rancher/fleet/pkg/names"
)

func TestAgentsObjectsAreThoseOfTheWire(t *testing.T) {
	r := agent("").mustRender(t)
	assert.Equal(t, []string{
		"ClusterRole/fleet-agent-system-fleet-agent-role",
		"ClusterRoleBinding/fleet-agent-system-fleet-agent-role-binding",
		"ConfigMap/cattle-fleet-system/fleet-agent",
		"Deployment/cattle-fleet-system/fleet-agent",
		"NetworkPolicy/cattle-fleet-system/default-allow-all",
		"Pod/cattle-fleet-system/fleet-agent-test",
		"Secret/cattle-fleet-system/fleet-agent-bootstrap",
		"ServiceAccount/cattle-fleet-system/default",
		"ServiceAccount/cattle-fleet-system/fleet-agent",
	}, r.list())

	assert.Equal(t, everything, find[*rbacv1.ClusterRole](t, r, "", "fleet-agent-system-fleet-agent-role").Rules)
	binding := find[*rbacv1.ClusterRoleBinding](t, r, "", "fleet-agent-system-fleet-agent-role-binding")
	assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: names.AgentAccount, Namespace: names.DefaultSystemNamespace}}, binding.Subjects)

	policy := find[*networkingv1.NetworkPolicy](t, r, names.DefaultSystemNamespace, names.AgentNetworkPolicy)
	assert.Empty(t, policy.Spec.PodSelector)
	assert.Equal(t, []networkingv1.NetworkPolicyIngressRule{{}}, policy.Spec.Ingress)
	assert.Equal(t, []networkingv1.NetworkPolicyEgressRule{{}}, policy.Spec.Egress)
	assert.ElementsMatch(t, []networkingv1.PolicyType{"Ingress", "Egress"}, policy.Spec.PolicyTypes)

	account := find[*corev1.ServiceAccount](t, r, names.DefaultSystemNamespace, "default")
	assert.Equal(t, false, *account.AutomountServiceAccountToken)
}

// Helm refuses an installation with an object that is there already, and Kubernetes makes this account itself.
func TestInstallationLeavesTheDefaultAccountAlone(t *testing.T) {
	i := agent("")
	i.live = cluster{[]runtime.Object{namespace("kube-system", "", "")}}
	list := i.mustRender(t).list()
	assert.NotContains(t, list, "ServiceAccount/cattle-fleet-system/default")
	assert.Contains(t, list, "ServiceAccount/cattle-fleet-system/fleet-agent")
}

func TestAgentsDeploymentIsTheOneThatTheHubTakesOver(t *testing.T) {
	d := deployment(t, agent("").mustRender(t))
	assert.Equal(t, names.AgentDeployment, d.Name)
	want := map[string]string{names.AgentPodLabelKey: names.AgentPodLabelValue}
	assert.Equal(t, want, d.Spec.Selector.MatchLabels)
	assert.Equal(t, want, d.Spec.Template.Labels)
	assert.Equal(t, intstr.FromInt32(0), *d.Spec.Strategy.RollingUpdate.MaxUnavailable)
	assert.Equal(t, intstr.FromInt32(1), *d.Spec.Strategy.RollingUpdate.MaxSurge)
	p := d.Spec.Template.Spec
	assert.Equal(t, names.AgentAccount, p.ServiceAccountName)
	assert.Equal(t, names.AgentContainer, p.Containers[0].Name)
	assert.Equal(t, []string{"fleetagent"}, p.Containers[0].Command)
	assert.Equal(t, []corev1.Toleration{uninitializedToleration, linuxToleration}, p.Tolerations)
	assert.Equal(t, map[string]string{"kubernetes.io/os": "linux"}, p.NodeSelector)
	assert.Equal(t, []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: names.AgentPreferredNodeLabel, Operator: "In", Values: []string{"true"}}},
	}}}, p.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

// The order is the wire's; what the user adds comes last.
func TestAgentsEnvironmentIsInOrder(t *testing.T) {
	var got []string
	for _, variable := range container(t, agent("proxy: http://proxy:3128\n").mustRender(t)).Env {
		got = append(got, variable.Name)
	}
	assert.Equal(t, []string{
		"BUNDLEDEPLOYMENT_RECONCILER_WORKERS", "DRIFT_RECONCILER_WORKERS", "NAMESPACE", "AGENT_SCOPE", "CHECKIN_INTERVAL",
		"CATTLE_ELECTION_LEASE_DURATION", "CATTLE_ELECTION_RETRY_PERIOD", "CATTLE_ELECTION_RENEW_DEADLINE",
		"HEARTBEAT_INTERVAL", "POD_NAME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
	}, got)
}
