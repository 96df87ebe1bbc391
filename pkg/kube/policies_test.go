package kube

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestEveryChangeOfAPolicyAndItsBindingIsHeardOf(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	meta := metav1.ObjectMeta{Name: "p", ResourceVersion: "1"}
	clients := fake.NewClientset(&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: meta}, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta})
	heard := make(chan struct{}, 10)
	require.True(t, WatchPolicy(ctx, testContext(t), clients, "p", func() { heard <- struct{}{} }))
	assert.Empty(t, heard, "what was there before is no change")

	policies, bindings := clients.AdmissionregistrationV1().ValidatingAdmissionPolicies(), clients.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	require.NoError(t, bindings.Delete(ctx, "p", metav1.DeleteOptions{}))
	receive(t, heard, "the deletion of the binding")
	_, err := bindings.Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}, metav1.CreateOptions{})
	require.NoError(t, err)
	receive(t, heard, "another binding")
	_, err = policies.Update(ctx, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "2"}}, metav1.UpdateOptions{})
	require.NoError(t, err)
	receive(t, heard, "the change of the policy")
}
