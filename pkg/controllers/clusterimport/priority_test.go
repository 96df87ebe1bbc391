package clusterimport

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// An API server changes no PriorityClass: without this, an import after such a change would fail for good.
func TestAPriorityClassThatIsToBeAnotherIsMadeAgain(t *testing.T) {
	never := corev1.PreemptNever
	for name, test := range map[string]struct {
		value  int32
		policy *corev1.PreemptionPolicy
		same   bool
	}{
		"the same":       {5, nil, true},
		"another value":  {6, nil, false},
		"another policy": {5, &never, false},
	} {
		h, d := importing(t)
		d.put(&schedulingv1.PriorityClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
			ObjectMeta: metav1.ObjectMeta{Name: names.AgentPriorityClass}, Value: test.value, PreemptionPolicy: test.policy,
		})
		before := d.Object("PriorityClass", "", names.AgentPriorityClass).GetUID()
		require.NotEmpty(t, before, name)
		h.change(t, func(c *fleet.Cluster) {
			c.Spec.AgentSchedulingCustomization = &fleet.AgentSchedulingCustomization{PriorityClass: &fleet.PriorityClassSpec{Value: 5}}
		})
		h.work1(t)
		h.answerToken(t)
		h.work1(t)
		after := d.Object("PriorityClass", "", names.AgentPriorityClass)
		require.NotNil(t, after, name)
		assert.EqualValues(t, 5, after.Object["value"], name)
		assert.Equal(t, test.same, before == after.GetUID(), name)
	}
}
