package registration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func lasting(days int) Life { return Life{From: lifeBegan, Until: after(days)} }

func managed() *fleet.Cluster {
	return &fleet.Cluster{Spec: fleet.ClusterSpec{KubeConfigSecret: "kubeconfig"}}
}

// T11: what ends soon is told with its name, its end and what to do, before it ends.
func TestWhatEndsSoonIsToldWithItsRemedy(t *testing.T) {
	print := func(l Life, fingerprint string) Life { l.Fingerprint = fingerprint; return l }
	rolling := print(lasting(100), "abcd")
	rolling.Others = true
	for name, test := range map[string]struct {
		lives   Lives
		agent   Life
		cluster *fleet.Cluster
		says    []string
		next    time.Time
	}{
		"nothing known":       {Lives{}, Life{}, managed(), nil, time.Time{}},
		"all is good":         {Lives{HubCA: lasting(1000), Kubeconfig: lasting(500)}, lasting(300), managed(), nil, after(240)},
		"the agent's, warned": {Lives{}, lasting(100), managed(), []string{"the agent's credential ends at 2026-04-11T00:00:00Z", "spec.redeployAgentGeneration"}, after(100)},
		"the agent's, which the hub cannot reach": {Lives{}, lasting(100), &fleet.Cluster{}, []string{"values of a new token"}, after(100)},
		"the kubeconfig's": {Lives{Kubeconfig: print(lasting(100), "abcd"), Secret: "ws/kubeconfig"}, Life{}, managed(),
			[]string{"the credential of the kubeconfig (SHA-256 abcd) ends at", `Secret ws/kubeconfig, key "value"`}, after(100)},
		"the kubeconfig's, ended": {Lives{Kubeconfig: lasting(80), Secret: "ws/kubeconfig"}, Life{}, managed(), []string{"the credential of the kubeconfig ended at"}, time.Time{}},
		"the cluster's CA":        {Lives{KubeconfigCA: print(lasting(100), "abcd")}, Life{}, managed(), []string{"the cluster's CA in the kubeconfig (SHA-256 abcd) ends"}, after(100)},
		"the hub's CA":            {Lives{HubCA: print(lasting(100), "abcd")}, Life{}, managed(), []string{"the hub's CA (SHA-256 abcd) ends", "apiServerCA of the hub's configuration"}, after(100)},
		"the hub's CA, in a roll": {Lives{HubCA: rolling}, Life{}, managed(), []string{"one of the certificates of the hub's CA"}, after(100)},
		"the hub's CA, from the secret": {Lives{HubCA: lasting(100), CAFrom: "ws/kubeconfig"}, Life{}, managed(),
			[]string{`Secret ws/kubeconfig, key "apiServerCA"`}, after(100)},
		"several, in one order": {Lives{HubCA: lasting(100), Kubeconfig: lasting(95)}, lasting(90), managed(),
			[]string{"the agent's credential ends", "; the credential of the kubeconfig ends", "; the hub's CA ends"}, after(90)},
		"one, and the next to come": {Lives{HubCA: lasting(106), Kubeconfig: lasting(100)}, Life{}, managed(), []string{"the credential of the kubeconfig"}, lasting(106).nearEnd()},
	} {
		t.Run(name, func(t *testing.T) {
			text, next := test.lives.Warnings(test.cluster, test.agent, after(81))
			if len(test.says) == 0 {
				assert.Empty(t, text)
			}
			for _, part := range test.says {
				assert.Contains(t, text, part)
			}
			assert.Equal(t, test.next, next)
			later, _ := test.lives.Warnings(test.cluster, test.agent, after(81).Add(time.Minute))
			assert.Equal(t, text, later, "it reads the same, or it would be written anew at each look")
		})
	}
}

func TestTheEndsAreShownAndNothingElseIsTouched(t *testing.T) {
	status := &fleet.ClusterStatus{}
	Lives{}.Show(status)
	assert.Nil(t, status.Credential)

	expires := metav1.NewTime(after(3))
	status.Credential = &fleet.CredentialStatus{Type: "TokenRequest", Expires: &expires}
	Lives{HubCA: lasting(1), Kubeconfig: lasting(2)}.Show(status)
	assert.Equal(t, &fleet.CredentialStatus{
		Type: "TokenRequest", Expires: &expires, HubCAExpires: &metav1.Time{Time: after(1)}, KubeconfigExpires: &metav1.Time{Time: after(2)},
	}, status.Credential)
	Lives{KubeconfigCA: lasting(2)}.Show(status)
	assert.Equal(t, &fleet.CredentialStatus{Type: "TokenRequest", Expires: &expires, KubeconfigCAExpires: &metav1.Time{Time: after(2)}}, status.Credential)
}

func TestTheHubsCAIsTheSecretsOrTheConfigured(t *testing.T) {
	secret := &corev1.Secret{Data: map[string][]byte{"apiServerCA": []byte("own")}}
	assert.Equal(t, "own", string(HubCAOf(secret, []byte("configured"))))
	assert.Equal(t, "configured", string(HubCAOf(nil, []byte("configured"))))
	assert.Equal(t, "configured", string(HubCAOf(&corev1.Secret{}, []byte("configured"))))
}
