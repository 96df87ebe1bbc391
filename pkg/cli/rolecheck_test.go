package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const checkedNamespace = "cattle-fleet-system"

func lease(name, holder string, age time.Duration) *coordinationv1.Lease {
	at, life := metav1.NewMicroTime(time.Now().Add(-age)), int32(30)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: checkedNamespace, Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &at, LeaseDurationSeconds: &life},
	}
}

func checked(objects ...runtime.Object) role {
	scheme := runtime.NewScheme()
	_ = fleet.AddToScheme(scheme)
	return role{objects: dynamicfake.NewSimpleDynamicClient(scheme), clients: kubefake.NewClientset(objects...), namespace: checkedNamespace}
}

func configuration(data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: checkedNamespace, Name: names.ControllerConfigMap}, Data: map[string]string{names.ConfigKey: data},
	}
}

func TestTheCheckOfAHubSaysWhatIsWrong(t *testing.T) {
	for says, r := range map[string]role{
		"":                     checked(configuration("{}"), lease(names.ControllerLease, "pod", time.Second)),
		"configuration: ":      checked(lease(names.ControllerLease, "pod", time.Second)),
		"has no key config":    checked(configuration(""), lease(names.ControllerLease, "pod", time.Second)),
		"leader: ":             checked(configuration("{}")),
		"no pod leads":         checked(configuration("{}"), lease(names.ControllerLease, "", time.Second)),
		"was renewed last 1h0": checked(configuration("{}"), lease(names.ControllerLease, "pod", time.Hour)),
	} {
		err := hubWorks(t.Context(), r)
		if says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, says)
	}
	without := checked(configuration("{}"), lease(names.ControllerLease, "pod", time.Second))
	without.objects.(*dynamicfake.FakeDynamicClient).PrependReactor("list", "clusters", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the server could not find the requested resource")
	})
	assert.ErrorContains(t, hubWorks(t.Context(), without), "fleet-crd must be installed")
}

func TestTheCheckOfAnAgentSaysWhatIsWrong(t *testing.T) {
	credential := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: checkedNamespace, Name: names.AgentCredentialStore}}
	for says, r := range map[string]role{
		"":                 checked(credential, lease(names.AgentElectionLease, "pod", time.Second)),
		"no credential":    checked(lease(names.AgentElectionLease, "pod", time.Second)),
		"no pod leads":     checked(credential, lease(names.AgentElectionLease, "", time.Second)),
		"was renewed last": checked(credential, lease(names.AgentElectionLease, "pod", time.Minute)),
	} {
		err := agentWorks(t.Context(), r)
		if says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, says)
	}
}

func TestACheckWaitsForAWhileAndSaysWhatWasWrongLast(t *testing.T) {
	r := checked(configuration("{}"))
	err := awaitRole(t.Context(), r, 10*time.Millisecond, hubWorks)
	assert.ErrorContains(t, err, "not working after 10ms: leader: ")

	_, err = r.clients.CoordinationV1().Leases(checkedNamespace).Create(t.Context(), lease(names.ControllerLease, "pod", 0), metav1.CreateOptions{})
	require.NoError(t, err)
	assert.NoError(t, awaitRole(t.Context(), r, time.Minute, hubWorks))
}
