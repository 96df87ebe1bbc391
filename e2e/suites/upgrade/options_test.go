package upgrade_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// A02: what the import made is taken over by the bundle without a change of its pods' template. What a chart made has no
// generation yet: it is rolled once, and keeps what the chart gave it.
func TestAnAgentIsTakenOverByItsBundle(t *testing.T) {
	b := theBed(t)
	managed, byHand, byToken := b.three[0], b.three[1], b.three[2]
	s := managed.joined(t)
	require.Equal(t, "1", s.revision)
	require.Equal(t, 1, s.pods)
	for _, c := range []*cluster{byHand, byToken} {
		s := c.settle(t, "rolled by its bundle", func(now state) bool { return now.generation != "" })
		require.Equal(t, "2", s.revision, c.name)
		require.Len(t, c.pods(), 2, c.name)
	}
	d, err := byToken.deployment(t.Context())
	require.NoError(t, err)
	require.Equal(t, "kept", stage.VariableOf(d.Spec.Template.Spec, "OF_THE_CHART"))
}

// change of a Cluster's options; what is given is merged into its spec.
type change struct {
	name string
	spec map[string]any
	// scheduled says that the agent is to have a PriorityClass and a PodDisruptionBudget afterwards.
	scheduled bool
}

func changes(t *testing.T) []change {
	one := func(key string, value any) change { return change{name: key, spec: map[string]any{key: value}} }
	scheduling := map[string]any{"podDisruptionBudget": map[string]any{"maxUnavailable": "1"}, "priorityClass": map[string]any{"value": 1000}}
	all := []change{
		{"environment, tolerations, priority and disruption budget", map[string]any{
			"agentEnvVars":                 []any{map[string]any{"name": "OF_THE_CLUSTER", "value": "a"}},
			"agentTolerations":             []any{toleration("b"), toleration("a")},
			"agentSchedulingCustomization": scheduling,
		}, true},
		{"redeploy generation, no scheduling of its own", map[string]any{"redeployAgentGeneration": 1, "agentSchedulingCustomization": nil}, false},
		one("agentResources", map[string]any{"requests": map[string]any{"memory": "64Mi"}}),
		one("agentAffinity", map[string]any{"podAffinity": map[string]any{}}),
		one("hostNetwork", true),
		one("privateRepoURL", "registry.example.com"),
		one("agentPullSecrets", []any{map[string]any{"name": "pull"}}),
	}
	return all[:stage.Reduced(t, "changes of options:", 2, len(all))]
}

func toleration(key string) map[string]any {
	return map[string]any{"key": key, "operator": "Exists"}
}

// A03, A13, A14: every change of a Cluster's options rolls its agent once, however it has joined; what means the same rolls
// none.
func TestEveryChangeOfItsOptionsRollsAnAgentOnce(t *testing.T) {
	b := theBed(t)
	states := make([]state, len(b.three))
	for i, c := range b.three {
		states[i] = c.joined(t)
	}
	for _, ch := range changes(t) {
		for _, c := range b.three {
			c.change(t, ch.spec)
		}
		for i, c := range b.three {
			states[i] = c.rolledOnce(t, states[i], ch.name)
		}
		for _, c := range b.three {
			c.isScheduled(t, ch.scheduled)
		}
	}
	for _, c := range b.three {
		c.change(t, map[string]any{
			"agentTolerations": []any{toleration("a"), toleration("b")}, "agentSchedulingCustomization": map[string]any{}, "paused": false,
		})
	}
	time.Sleep(window) // nothing is seen to happen
	for i, c := range b.three {
		require.Equal(t, states[i], c.settle(t, "as it was", nil), c.name)
	}
}

// isScheduled waits until there are the PriorityClass and the PodDisruptionBudget of an agent, or neither. Agents of one
// cluster have one PriorityClass.
func (c *cluster) isScheduled(t *testing.T, want bool) {
	t.Helper()
	await(t, fmt.Sprintf("priority class and disruption budget of %s: %t", c.name, want), func(ctx context.Context) (bool, string, error) {
		_, class := c.at.Kube.SchedulingV1().PriorityClasses().Get(ctx, names.AgentPriorityClass, metav1.GetOptions{})
		_, budget := c.at.Kube.PolicyV1().PodDisruptionBudgets(c.agents).Get(ctx, names.AgentDisruptionBudget, metav1.GetOptions{})
		for _, err := range []error{class, budget} {
			if err != nil && !apierrors.IsNotFound(err) {
				return false, "", err
			}
		}
		return (class == nil) == want && (budget == nil) == want, fmt.Sprintf("class %v, budget %v", class, budget), nil
	})
}

// One agent's bundle that fails holds up no other's; it goes on when it can.
func TestABundleThatFailsHoldsUpNoOther(t *testing.T) {
	b := theBed(t)
	states := make([]state, len(b.three))
	for i, c := range b.three {
		states[i] = c.joined(t)
	}
	broken := b.three[2]
	broken.forbid(t)
	for _, c := range b.three {
		c.change(t, map[string]any{"redeployAgentGeneration": 11})
	}
	for i, c := range b.three[:2] {
		c.rolledOnce(t, states[i], "beside one that fails")
	}
	bundle := names.AgentBundle(broken.name)
	await(t, "bundle "+bundle+" to say why", func(ctx context.Context) (bool, string, error) {
		seen, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, bundle)
		if err != nil || seen == nil {
			return false, "there is none", err
		}
		ready := stage.Condition(seen.Status.Conditions, "Ready")
		return ready != nil && ready.Status == "False" && strings.Contains(ready.Message, forbidden), stage.Conditions(seen.Status.Conditions), nil
	})
	require.Len(t, broken.processes(), 1, "its agent lives on")
	broken.allow(t)
	broken.rolledOnce(t, states[2], "once it may")
}

const forbidden = "the test forbids it"

// forbid lets a policy of the cluster refuse every change of the agent's Deployment.
func (c *cluster) forbid(t *testing.T) {
	t.Helper()
	api := c.at.Kube.AdmissionregistrationV1()
	name := "forbid-" + c.agents
	_, err := api.ValidatingAdmissionPolicies().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update, admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.namespace != '" + c.agents + "'", Message: forbidden}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = api.ValidatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	await(t, "the policy to be in force", func(ctx context.Context) (bool, string, error) {
		d, err := c.deployment(ctx)
		if err != nil {
			return false, "", err
		}
		_, err = c.at.Kube.AppsV1().Deployments(c.agents).Update(ctx, d, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), forbidden), "it is not", nil
	})
}

func (c *cluster) allow(t *testing.T) {
	t.Helper()
	api := c.at.Kube.AdmissionregistrationV1()
	require.NoError(t, api.ValidatingAdmissionPolicyBindings().Delete(t.Context(), "forbid-"+c.agents, metav1.DeleteOptions{}))
	require.NoError(t, api.ValidatingAdmissionPolicies().Delete(t.Context(), "forbid-"+c.agents, metav1.DeleteOptions{}))
}
