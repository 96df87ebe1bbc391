package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func requestThat(name string, status corev1.ConditionStatus, change func(*fleet.ClusterRegistration)) fleet.ClusterRegistration {
	r := fleet.ClusterRegistration{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: name}}
	r.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.RegistrationConditionGranted, Status: status, Reason: "IdentityConflict"}}
	change(&r)
	return r
}

// Somebody who asks for a cluster's identity is a thing to know about that cluster, also while its own agent works.
func TestARequestThatIsNotGrantedIsShownOnItsCluster(t *testing.T) {
	clusters := []fleet.Cluster{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "named"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "by-client"}, Spec: fleet.ClusterSpec{ClientID: "client"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ws", Name: "granted"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "named"}},
	}
	requests := requestsOf(clusters, []fleet.ClusterRegistration{
		requestThat("one", corev1.ConditionFalse, func(r *fleet.ClusterRegistration) { r.Status.ClusterName = "named" }),
		requestThat("two", corev1.ConditionFalse, func(r *fleet.ClusterRegistration) { r.Spec.ClientID = "client" }),
		requestThat("three", corev1.ConditionTrue, func(r *fleet.ClusterRegistration) {
			r.Status.ClusterName, r.Status.Granted = "granted", true
		}),
		requestThat("four", corev1.ConditionFalse, func(*fleet.ClusterRegistration) {}),
	})
	waits := map[string]string{}
	for _, row := range clusterRows(hubState{clusters: clusters, requests: requests}) {
		waits[row.Workspace+"/"+row.Name] = row.WaitsFor
	}
	assert.Equal(t, map[string]string{
		"ws/named":     "request one: IdentityConflict", // the cause, and not what follows from it
		"ws/by-client": "request two: IdentityConflict",
		"ws/granted":   "waiting for the agent's first heartbeat",
		"other/named":  "waiting for the agent's first heartbeat",
	}, waits)
}

func TestANamespaceThatIsNotThereIsTold(t *testing.T) {
	newTestHub(t, "")
	for _, verb := range []string{"cluster", "token", "registration"} {
		code, _, errOut := typed(verb, "list", "-n", "nosuch")
		assert.Zero(t, code, verb)
		assert.Equal(t, "There is no namespace nosuch on this hub.\n", errOut, verb)
	}
}

func TestAContextThatIsNotThereIsTold(t *testing.T) {
	newTestHub(t, "")
	code, _, errOut := typed("cluster", "list", "--context", "nope")
	assert.Equal(t, 1, code)
	assert.Equal(t, "fleet: --context is \"nope\": the kubeconfig has no such context, but hub\n", errOut)
}

func TestAnEmptyListSaysWhereItLooked(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, printClusters(&out, nil, "nope", time.Now()))
	assert.Equal(t, "There are no clusters in workspace nope.\n", out.String())
}
