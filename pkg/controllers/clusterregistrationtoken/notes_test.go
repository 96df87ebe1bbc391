package clusterregistrationtoken

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

// Who set a limit must not believe that it holds.
func TestALimitThatIsNotEnforcedIsSaid(t *testing.T) {
	const note = "spec.maxUses is not enforced by this version"
	for name, ttl := range map[string]time.Duration{"with an end": 12 * time.Hour, "without an end": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withURL)
			limited := token("t", ttl)
			limited.Spec.MaxUses = ptr.To(int32(1))
			w.tokens.Add(limited)
			require.NoError(t, w.pass("t"))
			w.fill("t-t-uid-token")
			require.NoError(t, w.pass("t"))

			ready := conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionReady)
			assert.Equal(t, corev1.ConditionTrue, ready.Status)
			assert.Equal(t, note, ready.Message)

			unlimited := w.liveToken("t")
			unlimited.Spec.MaxUses = nil
			w.tokens.Add(unlimited)
			require.NoError(t, w.pass("t"))
			assert.Empty(t, conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionReady).Message)
		})
	}
}

// fill puts a token into a service-account-token Secret, where there is one.
func (w *world) fill(name string) {
	secret := w.secrets.Live(hub.Registration, name)
	if secret == nil {
		return
	}
	secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("filled")}
	w.secrets.Add(secret)
}
