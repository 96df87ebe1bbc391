package registration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// inVain are creations and changes that are judged and not done.
var inVain = []string{metav1.DryRunAll}

// deniedBy says whether an answer is the refusal of a policy of the chart.
func deniedBy(policy string, err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+policy+"'")
}

// tries asks in vain and returns the answer.
func (a *applicant) tries(ctx context.Context, request *fleet.ClusterRegistration) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(request)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(fleet.SchemeGroupVersion.WithKind("ClusterRegistration"))
	unstructured.RemoveNestedField(u.Object, "status")
	_, err = a.hub.Dynamic.Resource(stage.Registrations).Namespace(a.workspace).Create(ctx, u, metav1.CreateOptions{DryRun: inVain})
	return err
}

// turnedAway sends the request and wants it refused by the policy, with the words.
func (a *applicant) turnedAway(t *testing.T, words string) {
	t.Helper()
	a.awaitLeave(t) // until then it is refused for another reason
	err := stage.Create(t.Context(), a.hub, stage.Registrations, "ClusterRegistration", a.workspace, a.request)
	require.True(t, deniedBy(names.RegistrationPolicy, err), "%v", err)
	require.ErrorContains(t, err, words)
}

// Attacks 3, 4, 5 and 7: whoever asks for a registration names his own token and himself, and brings nothing that is the
// hub's to write, nor more than fits.
func TestARequestSaysNothingButWhatIsItsSenders(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	jwt := w.newToken(t, "door", fleet.ClusterRegistrationTokenSpec{})
	a := w.applicant(t, "door", jwt, "client-at-the-door")
	a.awaitLeave(t)
	many := map[string]string{}
	for i := range 66 {
		many[fmt.Sprintf("label-%d", i)] = "v"
	}
	label := func(key, value string) func(*fleet.ClusterRegistration) {
		return func(r *fleet.ClusterRegistration) { r.Labels[key] = value }
	}
	identity := func(id fleet.RegistrationIdentity) func(*fleet.ClusterRegistration) {
		return func(r *fleet.ClusterRegistration) { r.Spec.Identity = &id }
	}
	for what, test := range map[string]struct {
		spoil func(*fleet.ClusterRegistration)
		words string
	}{
		"another's token":          {label(names.RegistrationTokenLabel, edge2), "names token " + edge2},
		"the hub's own token":      {label(names.RegistrationTokenLabel, "import-token-"+edge1), "names token import-token-" + edge1},
		"a token that is nobody's": {label(names.RegistrationTokenLabel, "nobodys"), "names token nobodys"},
		"a token like its own":     {label(names.RegistrationTokenLabel, "door-1"), "names token door-1"},
		"another sender":           {identity(fleet.RegistrationIdentity{Requester: names.AccountUser(stage.RegistrationNamespace, "other")}), "spec.identity.requester"},
		"a name of its own":        {func(r *fleet.ClusterRegistration) { r.Name = "c-1" }, "begin with request-"},
		"a finalizer":              {func(r *fleet.ClusterRegistration) { r.Finalizers = []string{"example.com/forever"} }, "finalizers"},
		"an owner": {func(r *fleet.ClusterRegistration) {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "s", UID: "u"}}
		}, "ownerReferences"},
		"an annotation":        {func(r *fleet.ClusterRegistration) { r.Annotations = map[string]string{"a": "b"} }, "annotations"},
		"a label of the hub":   {label(names.ManagedLabel, "true"), "metadata.labels"},
		"a label of a manager": {label(names.ClusterManagementLabel, "someone"), "metadata.labels"},
		"a label":              {label("env", "prod"), "metadata.labels"},
		"a long client ID":     {func(r *fleet.ClusterRegistration) { r.Spec.ClientID = strings.Repeat("c", 254) }, "too long"},
		"a long client random": {func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = strings.Repeat("c", 129) }, "too long"},
		"a long UID":           {identity(fleet.RegistrationIdentity{ClusterUID: strings.Repeat("c", 254)}), "too long"},
		"many cluster labels":  {func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = many }, "more than 64"},
		"a long cluster label": {func(r *fleet.ClusterRegistration) {
			r.Spec.ClusterLabels = map[string]string{"env": strings.Repeat("v", 64)}
		}, "too long"},
	} {
		bad := a.request.DeepCopy()
		test.spoil(bad)
		err := a.tries(t.Context(), bad)
		require.True(t, deniedBy(names.RegistrationPolicy, err), "%s: %v", what, err)
		require.ErrorContains(t, err, test.words, what)
	}
	// What agents send, ours and those of the reference, is let pass.
	requester := names.AccountUser(stage.RegistrationNamespace, w.accountOf(t, "door"))
	for what, change := range map[string]func(*fleet.ClusterRegistration){
		"as it is":     func(*fleet.ClusterRegistration) {},
		"its own name": identity(fleet.RegistrationIdentity{Requester: requester, ClusterUID: "u"}),
		"64 labels": func(r *fleet.ClusterRegistration) {
			delete(many, "label-64")
			delete(many, "label-65")
			r.Spec.ClusterLabels = many
		},
		"a generated name": func(r *fleet.ClusterRegistration) { r.Name, r.GenerateName = "", registration.RequestPrefix },
		"an empty label":   label(names.RegistrationTokenLabel, ""),
		"no label":         func(r *fleet.ClusterRegistration) { r.Labels = nil },
	} {
		good := a.request.DeepCopy()
		change(good)
		require.NoError(t, a.tries(t.Context(), good), what)
	}
}

// The hub knows whether what it believes of requests is checked, because it tries, and says so of every token.
func TestTheHubSaysWhetherTheOriginOfRequestsIsChecked(t *testing.T) {
	w := ofTheWorld(t)
	w.leaveAsFound(t)
	w.awaitOrigin(t, stage.Workspace, edge2, corev1.ConditionTrue, registration.ProvenanceInForce)
	w.awaitOrigin(t, stage.Workspace, "import-token-"+edge1, corev1.ConditionTrue, registration.ProvenanceInForce)
	bindings := w.Hub.Kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding, err := bindings.Get(t.Context(), names.RegistrationPolicy, metav1.GetOptions{})
	require.NoError(t, err)
	anew := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: binding.Name, Labels: binding.Labels, Annotations: binding.Annotations}, Spec: binding.Spec,
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { // others rest on it
		if _, err := bindings.Create(ctx, anew, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			require.NoError(t, err)
		}
	})
	require.NoError(t, bindings.Delete(t.Context(), names.RegistrationPolicy, metav1.DeleteOptions{}))
	w.awaitOrigin(t, stage.Workspace, edge2, corev1.ConditionFalse, registration.ProvenanceNotInstalled)
	w.worksUnchecked(t)

	weak := anew.DeepCopy()
	weak.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
	weak, err = bindings.Create(t.Context(), weak, metav1.CreateOptions{})
	require.NoError(t, err)
	w.awaitOrigin(t, stage.Workspace, edge2, corev1.ConditionFalse, registration.ProvenanceNotInForce)

	weak.Spec.ValidationActions = binding.Spec.ValidationActions
	_, err = bindings.Update(t.Context(), weak, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.awaitOrigin(t, stage.Workspace, edge2, corev1.ConditionTrue, registration.ProvenanceInForce)
}

// worksUnchecked has somebody join, and somebody else try to become a cluster that is there, while nobody checks what
// requests say.
func (w *world) worksUnchecked(t *testing.T) {
	t.Helper()
	jwt := w.newToken(t, "unchecked", fleet.ClusterRegistrationTokenSpec{})
	honest := w.applicant(t, "unchecked", jwt, "client-unchecked")
	honest.ask(t)
	honest.credential(t)
	cluster := honest.cluster(t)
	t.Cleanup(func() { w.remove(t, stage.Clusters.Resource, stage.Workspace, cluster.Name) })

	victim := w.victim(t, edge1)
	impostor := w.applicant(t, names.ImportToken(edge1), jwt, victim.cluster.Spec.ClientID)
	withRequester(t, impostor, w.accountOf(t, names.ImportToken(edge1)))
	impostor.ask(t)
	impostor.refused(t, "IdentityConflict")
	w.remove(t, stage.Registrations.Resource, stage.Workspace, impostor.request.Name)
	victim.isUntouched(t)
}

// awaitOrigin waits for what a token says of the origin of requests.
func (b *bed) awaitOrigin(t *testing.T, workspace, token string, status corev1.ConditionStatus, reason string) {
	t.Helper()
	await(t, fmt.Sprintf("token %s to say ProvenanceEnforced=%s %s", token, status, reason), func(ctx context.Context) (bool, string, error) {
		found, err := stage.Get[fleet.ClusterRegistrationToken](ctx, b.Hub, stage.Tokens, workspace, token)
		if err != nil || found == nil {
			return false, "no token", err
		}
		c := stage.Condition(found.Status.Conditions, fleet.TokenConditionProvenanceEnforced)
		return c != nil && c.Status == status && c.Reason == reason, stage.Conditions(found.Status.Conditions), nil
	})
}
