package charts

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/names"
)

// policies are those of the chart.
var policies = []string{
	"fleet-agent-lease", "fleet-agent-status", "fleet-bundle-copies", "fleet-bundle-mapping", "fleet-cluster-annotations", "fleet-cluster-kubeconfig", "fleet-cluster-namespace", "fleet-controller-tokens", names.RegistrationPolicy,
}

// namesOf are the names of all objects of a kind.
func namesOf[T metav1.Object](r rendered) (found []string) {
	for _, object := range r.objects {
		if typed, ok := object.(T); ok {
			found = append(found, typed.GetName())
		}
	}
	slices.Sort(found)
	return found
}

func noPolicies(t *testing.T, r rendered) {
	t.Helper()
	assert.Empty(t, namesOf[*admissionv1.ValidatingAdmissionPolicy](r))
	assert.Empty(t, namesOf[*admissionv1.ValidatingAdmissionPolicyBinding](r))
	find[*corev1.ServiceAccount](t, r, "cattle-fleet-clusters-system", names.ProbeAccount)
}

func noFlowControl(t *testing.T, r rendered) {
	t.Helper()
	assert.Empty(t, namesOf[*flowcontrolv1.FlowSchema](r))
	assert.Empty(t, namesOf[*flowcontrolv1.PriorityLevelConfiguration](r))
}

// A policy that is not bound, that only warns, or that an error in it lets be passed by, holds nobody to anything.
func TestEachPolicyIsBoundAndDenies(t *testing.T) {
	r := hub("").mustRender(t)
	require.Equal(t, policies, namesOf[*admissionv1.ValidatingAdmissionPolicy](r))
	require.Equal(t, policies, namesOf[*admissionv1.ValidatingAdmissionPolicyBinding](r))
	for _, name := range policies {
		binding := find[*admissionv1.ValidatingAdmissionPolicyBinding](t, r, "", name)
		assert.Equal(t, name, binding.Spec.PolicyName)
		assert.Equal(t, []admissionv1.ValidationAction{admissionv1.Deny}, binding.Spec.ValidationActions)
		assert.Nil(t, binding.Spec.MatchResources)
		policy := find[*admissionv1.ValidatingAdmissionPolicy](t, r, "", name)
		require.NotNil(t, policy.Spec.FailurePolicy)
		assert.Equal(t, admissionv1.Fail, *policy.Spec.FailurePolicy)
		require.NotEmpty(t, policy.Spec.Validations)
		for _, v := range policy.Spec.Validations {
			assert.NotEmpty(t, v.Message, name)
			require.NotNil(t, v.Reason)
			assert.Equal(t, metav1.StatusReasonForbidden, *v.Reason)
		}
	}
}

// The hub's own writes are let pass before any rule is worked out, wherever the chart is installed; and its Secrets are held
// to the two namespaces of that installation.
func TestPoliciesKnowTheHubOfTheirInstallation(t *testing.T) {
	i := hub("")
	i.namespace = "my-system"
	r := i.mustRender(t)
	for _, name := range policies {
		policy := find[*admissionv1.ValidatingAdmissionPolicy](t, r, "", name)
		require.Len(t, policy.Spec.MatchConditions, 1)
		operator := "!="
		if name == "fleet-controller-tokens" {
			operator = "=="
		}
		want := "request.userInfo.username " + operator + " 'system:serviceaccount:my-system:fleet-controller' &&"
		assert.True(t, strings.HasPrefix(policy.Spec.MatchConditions[0].Expression, want), "%s: %s", name, policy.Spec.MatchConditions[0].Expression)
	}
	tokens := find[*admissionv1.ValidatingAdmissionPolicy](t, r, "", "fleet-controller-tokens")
	assert.Equal(t, "request.namespace in ['my-clusters-system', 'my-agents-system']", tokens.Spec.Validations[0].Expression)
}

// Kubernetes before 1.30, or 1.29, does not serve the kinds: Helm would refuse to install the chart.
func TestWhatIsNotServedIsNotInstalled(t *testing.T) {
	i := hub("")
	i.without = []string{policyKind}
	r := i.mustRender(t)
	noPolicies(t, r)
	assert.NotEmpty(t, namesOf[*flowcontrolv1.FlowSchema](r))
	i.without = []string{flowSchemaKind}
	r = i.mustRender(t)
	noFlowControl(t, r)
	assert.NotEmpty(t, namesOf[*admissionv1.ValidatingAdmissionPolicy](r))
}

func TestWithoutAClusterTheVersionOfKubernetesDecides(t *testing.T) {
	for version, served := range map[string]bool{"v1.29.9": false, "v1.30.0": true, "v1.30.0-rc.1+x": true, "v1.37.0": true} {
		i := hub("")
		i.kubernetes = version
		r := i.mustRender(t)
		assert.Equal(t, served, len(namesOf[*admissionv1.ValidatingAdmissionPolicy](r)) > 0, version)
		assert.Equal(t, served, len(namesOf[*flowcontrolv1.FlowSchema](r)) > 0, version)
	}
}

// The account of the probe may ask, and no token is its own.
func TestTheProbeMayAskAndNothingElse(t *testing.T) {
	r := hub("").mustRender(t)
	const registration = "cattle-fleet-clusters-system"
	role := find[*rbacv1.Role](t, r, registration, names.ProbeAccount)
	assert.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{"fleet.cattle.io"}, Resources: []string{"clusterregistrations"}, Verbs: []string{"create"}},
	}, role.Rules)
	account := find[*corev1.ServiceAccount](t, r, registration, names.ProbeAccount)
	require.NotNil(t, account.AutomountServiceAccountToken)
	assert.False(t, *account.AutomountServiceAccountToken)
}

// Heartbeats go before what asks for registration, and both before the level that all accounts share.
func TestHeartbeatsAndRequestsHaveSharesOfTheirOwn(t *testing.T) {
	i := hub("")
	i.namespace = "my-system"
	r := i.mustRender(t)
	both := []string{"fleet-heartbeats", "fleet-registration"}
	require.Equal(t, both, namesOf[*flowcontrolv1.FlowSchema](r))
	require.Equal(t, both, namesOf[*flowcontrolv1.PriorityLevelConfiguration](r))
	group := map[string]string{"fleet-heartbeats": "my-agents-system", "fleet-registration": "my-clusters-system"}
	last := int32(900) // what kube-system's accounts ask
	for _, name := range both {
		schema := find[*flowcontrolv1.FlowSchema](t, r, "", name)
		assert.Equal(t, name, schema.Spec.PriorityLevelConfiguration.Name)
		assert.Equal(t, flowcontrolv1.FlowDistinguisherMethodByUserType, schema.Spec.DistinguisherMethod.Type)
		require.Len(t, schema.Spec.Rules, 1)
		assert.Equal(t, []flowcontrolv1.Subject{{
			Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: "system:serviceaccounts:" + group[name]},
		}}, schema.Spec.Rules[0].Subjects)
		assert.Greater(t, schema.Spec.MatchingPrecedence, last)
		assert.Less(t, schema.Spec.MatchingPrecedence, int32(9000), "what all accounts ask")
		last = schema.Spec.MatchingPrecedence
		level := find[*flowcontrolv1.PriorityLevelConfiguration](t, r, "", name)
		assert.Equal(t, flowcontrolv1.LimitResponseTypeQueue, level.Spec.Limited.LimitResponse.Type)
	}
	beats := find[*flowcontrolv1.FlowSchema](t, r, "", "fleet-heartbeats")
	assert.Equal(t, []string{"leases"}, beats.Spec.Rules[0].ResourceRules[0].Resources)
	flood := find[*flowcontrolv1.PriorityLevelConfiguration](t, r, "", "fleet-registration")
	require.NotNil(t, flood.Spec.Limited.BorrowingLimitPercent, "a flood takes no share of others without bounds")
}
