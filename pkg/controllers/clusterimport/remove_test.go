package clusterimport

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// everything is all that an agent of any version can have in a namespace and beside it, its leader election included.
func everything(namespace string) []runtime.Object {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	wide := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	kind := func(version, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	return []runtime.Object{
		&appsv1.Deployment{TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: meta("fleet-agent")},
		&appsv1.StatefulSet{TypeMeta: kind("apps/v1", "StatefulSet"), ObjectMeta: meta("fleet-agent")},
		&rbacv1.ClusterRoleBinding{TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ObjectMeta: wide(namespace + "-fleet-agent-role-binding")},
		&rbacv1.ClusterRole{TypeMeta: kind("rbac.authorization.k8s.io/v1", "ClusterRole"), ObjectMeta: wide(namespace + "-fleet-agent-role")},
		&corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: meta("fleet-agent")},
		&corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: meta("fleet-agent-bootstrap")},
		&corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: meta("fleet-agent-identity")},
		&corev1.ConfigMap{TypeMeta: kind("v1", "ConfigMap"), ObjectMeta: meta("fleet-agent")},
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta("fleet-agent")},
		&networkingv1.NetworkPolicy{TypeMeta: kind("networking.k8s.io/v1", "NetworkPolicy"), ObjectMeta: meta("default-allow-all")},
		&policyv1.PodDisruptionBudget{TypeMeta: kind("policy/v1", "PodDisruptionBudget"), ObjectMeta: meta("fleet-agent-pod-disruption-budget")},
		&coordinationv1.Lease{TypeMeta: kind("coordination.k8s.io/v1", "Lease"), ObjectMeta: meta("fleet-agent")},
	}
}

// others are what stays: the namespace with what others have there, and the priority class, which has one name for all
// agents of a cluster (E07).
func others(namespace string) []runtime.Object {
	return []runtime.Object{
		&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-users"}},
		&schedulingv1.PriorityClass{TypeMeta: metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"}, ObjectMeta: metav1.ObjectMeta{Name: "fleet-agent-priority-class"}},
		&coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "fleet-controller-lock"}},
	}
}

func (d *downstream) put(objs ...runtime.Object) {
	for _, obj := range objs {
		d.Put(obj)
	}
}

func (h *hub) client(t *testing.T, d *downstream) facts {
	t.Helper()
	f := factsOf(cluster())
	f.secret = kubeconfigSecret(map[string][]byte{keyKubeconfig: d.kubeconfig})
	return f
}

func always() error { return nil }

// TestDeleteAgentResources of the reference; the priority class apart.
func TestAnAgentIsRemovedWholeAndAlone(t *testing.T) {
	h, d := newHub(t), newDownstream(t)
	d.put(others("old")...)
	want := d.objects()
	d.put(everything("old")...)
	client, err := h.connect(h.client(t, d))
	require.NoError(t, err)
	defer client.Close()
	d.Reset()

	require.NoError(t, deleteAgent(t.Context(), client, "old", always))

	assert.Equal(t, want, d.objects())
	assert.Contains(t, d.Writes()[0].Path, "/deployments/", "nothing runs without its account")
	require.NoError(t, deleteAgent(t.Context(), client, "old", always), "a second time is no error")

	d.put(everything("old")...)
	d.refuse("/configmaps/", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	assert.ErrorContains(t, deleteAgent(t.Context(), client, "old", always), "ConfigMap fleet-agent from old")
}

// The old agent runs until the new one has reported from its namespace; then it goes, with all that it had.
func TestTheAgentThatWasLeftBehindGoesAtTheNewOnesFirstReport(t *testing.T) {
	h, d := joined(t)
	h.change(t, func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" })
	h.work1(t)
	h.answerToken(t)
	h.work1(t)
	assert.Equal(t, []string{system}, record(t, h).Previous)
	assert.Contains(t, d.objects(), "Deployment cattle-fleet-system/fleet-agent")
	assert.Contains(t, d.objects(), "Deployment agents/fleet-agent")
	h.writes()
	h.work1(t)
	assert.Empty(t, h.writes(), "until then it stays")

	h.change(t, connectedNow(h))
	h.work1(t)

	assert.Equal(t, []string{noteRecord}, h.writes())
	assert.Empty(t, record(t, h).Previous)
	assert.Contains(t, d.objects(), "Deployment agents/fleet-agent")
	left := slices.DeleteFunc(d.objects(), func(o string) bool { return !strings.Contains(o, system) })
	assert.Equal(t, []string{"Namespace /cattle-fleet-system", "ServiceAccount cattle-fleet-system/default"}, left)
	h.work1(t)
	assert.Empty(t, h.writes())
}

func TestNothingIsRemovedFromAnotherClusterThanThatOfTheImport(t *testing.T) {
	h, d := joined(t)
	other := newDownstream(t)
	other.put(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "filler"}})
	other.Remove("Namespace", "", "kube-system")
	other.put(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
	other.put(everything("old")...)
	before := other.objects()
	r := record(t, h)
	r.Previous, r.Kubeconfig = []string{"old"}, digest(other.kubeconfig)
	h.change(t, recorded(r))
	h.secrets.Add(kubeconfigSecret(map[string][]byte{keyKubeconfig: other.kubeconfig}))
	require.NotEqual(t, d.uid, string(other.Object("Namespace", "", "kube-system").GetUID()))

	h.work1(t)

	assert.Equal(t, before, other.objects())
	assert.Empty(t, record(t, h).Previous, "what another cluster has is of no concern any more")
}

func TestAFailedRemovalIsTriedAgain(t *testing.T) {
	h, d := joined(t)
	d.put(everything("old")...)
	r := record(t, h)
	r.Previous = []string{"old"}
	h.change(t, recorded(r))
	d.refuse("/old/serviceaccounts", http.StatusForbidden, metav1.StatusReasonForbidden, "no")
	require.Error(t, h.work(t.Context(), key))
	assert.Equal(t, []string{"old"}, record(t, h).Previous)
	assert.Equal(t, "Forbidden", h.imported(t).Reason)

	d.Intercept(nil)
	h.work1(t)
	assert.Empty(t, record(t, h).Previous)
	h.work1(t)
	assert.Equal(t, "Imported", h.imported(t).Reason, "what was said of it is taken back")
}
