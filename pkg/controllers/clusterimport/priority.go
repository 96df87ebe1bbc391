package clusterimport

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/pkg/kube"
)

// renewClass takes the agent's PriorityClass away where it is to be another: an API server changes none. It is made again
// right after; pods keep what they were given by it.
func renewClass(ctx context.Context, d *kube.Downstream, objects []runtime.Object) error {
	for _, obj := range objects {
		want, ok := obj.(*schedulingv1.PriorityClass)
		if !ok {
			continue
		}
		classes := d.Clients.SchedulingV1().PriorityClasses()
		have, err := classes.Get(ctx, want.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("reading PriorityClass %s: %w", want.Name, err)
		case have.Value == want.Value && policyOf(have) == policyOf(want):
			continue
		}
		if err := kube.Deleted(classes.Delete(ctx, want.Name, *kube.ByUID(have.UID))); err != nil {
			return fmt.Errorf("removing PriorityClass %s to make it again: %w", want.Name, err)
		}
	}
	return nil
}

// policyOf is what an API server puts in where nothing is said.
func policyOf(c *schedulingv1.PriorityClass) corev1.PreemptionPolicy {
	if c.PreemptionPolicy == nil {
		return corev1.PreemptLowerPriority
	}
	return *c.PreemptionPolicy
}
