package clusterregistrationtoken

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
)

func TestATokenSaysThatItHasNoUsesLeft(t *testing.T) {
	const note = "It has granted as many requests as it may (spec.maxUses is 1): raise spec.maxUses, or make another token"
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
			assert.Empty(t, ready.Message)

			used := w.liveToken("t")
			used.Status.UsedBy = []string{"uid-of-request"}
			w.tokens.Add(used)
			require.NoError(t, w.pass("t"))
			assert.Equal(t, note, conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionReady).Message)
			assert.Equal(t, []string{"uid-of-request"}, w.liveToken("t").Status.UsedBy)

			raised := w.liveToken("t")
			raised.Spec.MaxUses = ptr.To(int32(2))
			w.tokens.Add(raised)
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

// With strict trust and no CA no agent can join; who reads the token is told before an agent is. What the hub imports has
// its CA from elsewhere, too.
func TestATokenThatNoAgentCouldTrustTheHubWithIsNotReady(t *testing.T) {
	for name, test := range map[string]struct {
		document string
		byHub    bool
		ready    corev1.ConditionStatus
	}{
		"strict, no CA":             {`{"apiServerURL":"https://h","agentTLSMode":"strict"}`, false, corev1.ConditionFalse},
		"strict, a CA":              {`{"apiServerURL":"https://h","agentTLSMode":"strict","apiServerCA":"Q0E="}`, false, corev1.ConditionTrue},
		"the system's, no CA":       {`{"apiServerURL":"https://h","agentTLSMode":"system-store"}`, false, corev1.ConditionTrue},
		"nothing said, no CA":       {`{"apiServerURL":"https://h"}`, false, corev1.ConditionTrue},
		"strict, no CA, for import": {`{"apiServerURL":"https://h","agentTLSMode":"strict"}`, true, corev1.ConditionTrue},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.document)
			name := "t"
			if test.byHub {
				name = names.ImportToken("edge")
			}
			token := token(name, time.Hour)
			if test.byHub {
				token.OwnerReferences = []metav1.OwnerReference{{APIVersion: fleet.SchemeGroupVersion.String(), Kind: "Cluster", Name: "edge"}}
			}
			w.tokens.Add(token)
			require.NoError(t, w.pass(name))

			live := w.liveToken(name)
			ready := conditions.GetCondition(live.Status.Conditions, fleet.TokenConditionReady)
			assert.Equal(t, test.ready, ready.Status, ready.Message)
			assert.Equal(t, name, live.Status.SecretName, "other tools may complete what is in it")
			require.NotNil(t, w.secrets.Live("fleet-default", name))
			if test.ready == corev1.ConditionFalse {
				assert.Equal(t, "NoServerCA", ready.Reason)
				assert.Contains(t, ready.Message, "set apiServerCA in the hub's configuration")
				w.configure(t, withURL)
				require.NoError(t, w.pass("t"))
				healed := conditions.GetCondition(w.liveToken("t").Status.Conditions, fleet.TokenConditionReady)
				assert.Equal(t, corev1.ConditionTrue, healed.Status)
			}
		})
	}
}
