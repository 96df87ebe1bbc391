package badinput_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// A policy of the hub lets the Cluster of an agent not in. The request says so. Where that may pass by itself the hub tries
// again; where it may not, nothing is written until the agent asks anew.
func TestAClusterThatTheHubsOwnPolicyRefusesIsSaidOfItsRequest(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	p := newPlace()
	values, err := b.NewToken(until(t), p.workspace, "token", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	asker, err := b.Hub.AsToken("refused-asker", values["token"].(string))
	require.NoError(t, err)
	ask := func(request *fleet.ClusterRegistration) {
		await(t, "leave to ask", func(ctx context.Context) (bool, string, error) {
			err := stage.Create(ctx, asker, stage.Registrations, "ClusterRegistration", p.workspace, request)
			return err == nil, "", err
		})
	}
	asking := func(reason metav1.StatusReason) *fleet.ClusterRegistration {
		request := goodRequest(t, p.workspace, p.workspace+"-"+strings.ToLower(string(reason)))
		request.Spec.ClusterLabels = map[string]string{"refuse": string(reason)}
		return request
	}
	lift := b.refuse(t, p.workspace, metav1.StatusReasonInvalid, metav1.StatusReasonForbidden)
	final, passing := asking(metav1.StatusReasonInvalid), asking(metav1.StatusReasonForbidden)
	ask(final)
	ask(passing)
	b.granted(t, final, "invalid", corev1.ConditionFalse, "ClusterRefused", names.RegisteredCluster(final.Spec.ClientID), "house rule Invalid", "then delete the request")
	b.granted(t, passing, "forbidden", corev1.ConditionFalse, "ClusterRefused", names.RegisteredCluster(passing.Spec.ClientID), "house rule Forbidden", "tries again by itself")
	seen := b.observe().of("fleet-controller", func(r shim.Request) bool {
		return r.Write() && r.Namespace == p.workspace && r.Resource == "clusterregistrations"
	})
	require.Empty(t, seen, "neither is said again")

	lift()
	b.granted(t, passing, "forbidden", corev1.ConditionTrue, "Granted")
	b.granted(t, final, "invalid", corev1.ConditionFalse, "ClusterRefused")
	require.NoError(t, b.Hub.Dynamic.Resource(stage.Registrations).Namespace(p.workspace).Delete(t.Context(), final.Name, metav1.DeleteOptions{}))
	anew := asking(metav1.StatusReasonInvalid)
	ask(anew)
	b.granted(t, anew, "asked anew", corev1.ConditionTrue, "Granted")
}

// refuse makes policies that refuse the Clusters of a workspace whose label names the policy's reason, and waits until they
// are in force. It returns what takes them away.
func (b *bed) refuse(t *testing.T, workspace string, reasons ...metav1.StatusReason) (lift func()) {
	t.Helper()
	policies, bindings := b.Hub.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), b.Hub.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	name := func(reason metav1.StatusReason) string { return workspace + "-" + strings.ToLower(string(reason)) }
	for _, reason := range reasons {
		_, err := policies.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name(reason)},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{"fleet.cattle.io"}, APIVersions: []string{"*"}, Resources: []string{"clusters"}},
				}}}},
				Validations: []admissionv1.Validation{{
					Expression: fmt.Sprintf("!has(object.metadata.labels) || !('refuse' in object.metadata.labels) || object.metadata.labels.refuse != '%s'", reason),
					Message:    "house rule " + string(reason), Reason: &reason,
				}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name(reason)},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name(reason), ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: workspace}}},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		b.enforced(t, workspace, string(reason))
	}
	lift = func() {
		for _, reason := range reasons {
			ctx := context.WithoutCancel(t.Context())
			for _, err := range []error{bindings.Delete(ctx, name(reason), metav1.DeleteOptions{}), policies.Delete(ctx, name(reason), metav1.DeleteOptions{})} {
				if !apierrors.IsNotFound(err) {
					require.NoError(t, err)
				}
			}
		}
	}
	t.Cleanup(lift)
	return lift
}

// enforced waits until a Cluster with a label is refused.
func (b *bed) enforced(t *testing.T, workspace, label string) {
	t.Helper()
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "Cluster",
		"metadata": map[string]any{"name": "probe", "labels": map[string]any{"refuse": label}}, "spec": map[string]any{},
	}}
	await(t, "policy "+label+" to be in force", func(ctx context.Context) (bool, string, error) {
		_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(workspace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "house rule "+label), fmt.Sprint(err), nil
	})
}
