package badinput_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// requestRow is a request that the API takes and that no hub should grant.
type requestRow struct {
	name  string
	spoil func(*fleet.ClusterRegistration)
	says  []string
}

func requestRows() []requestRow {
	clientID := func(name, id string, says ...string) requestRow {
		return requestRow{name: name, spoil: func(r *fleet.ClusterRegistration) { r.Spec.ClientID = id }, says: append(says, "spec.clientID")}
	}
	labels := func(name string, labels map[string]string, says ...string) requestRow {
		return requestRow{name: name, spoil: func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = labels }, says: append(says, "spec.clusterLabels")}
	}
	many := map[string]string{}
	for i := range 256 {
		many[fmt.Sprintf("label-%d", i)] = strings.Repeat("v", 63)
	}
	return []requestRow{
		clientID("no client ID", "", "is empty"),
		clientID("a blank client ID", " \t\n", "is empty"),
		clientID("a client ID of 254 bytes", strings.Repeat("c", 254), "253"),
		clientID("a client ID of 1024 bytes", strings.Repeat("c", 1024), "253"),
		clientID("a client ID that is a path", "../../kube-system/x"),
		clientID("a client ID of other scripts", "ed\u0261e"),
		clientID("a client ID of control characters", "edge\x1b[31m"),
		labels("256 labels", many, "may have 64"),
		labels("a label that is none", map[string]string{"not a label": "v"}, "not a label"),
		labels("a value that is none", map[string]string{"env": "not valid!"}, "[env]"),
		labels("a value that is too long", map[string]string{"env": strings.Repeat("x", 252)}, "[env]"),
		{name: "no client random", spoil: func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = "" }, says: []string{"spec.clientRandom"}},
		{name: "a client random of 512 bytes", spoil: func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = strings.Repeat("r", 512) }, says: []string{"spec.clientRandom", "128"}},
		{name: "a key that is none", spoil: func(r *fleet.ClusterRegistration) {
			r.Spec.Identity = &fleet.RegistrationIdentity{PublicKey: marker}
		}, says: []string{"spec.identity.publicKey"}},
		{name: "huge options", spoil: func(r *fleet.ClusterRegistration) {
			r.Spec.Agent = &fleet.RegistrationAgent{Options: &fleet.AgentOptions{EnvVars: []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 500_000)}}}}
		}, says: []string{"spec.agent.options", "16384"}},
		{name: "a reserved label", spoil: func(r *fleet.ClusterRegistration) { r.Labels[names.ManagedLabel] = "true" }, says: []string{names.ManagedLabel}},
		{name: "a finalizer", spoil: func(r *fleet.ClusterRegistration) { r.Finalizers = []string{"example.com/forever"} }, says: []string{"metadata.finalizers"}},
	}
}

// What an agent asks is checked by the hub itself, whatever the API server checks: a request that cannot be is refused with the name of the field, costs nothing, and is
// granted when somebody corrects it.
func TestARequestThatCannotBeGrantedIsNamedAndHeals(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	p := newPlace()
	_, err := b.NewToken(until(t), p.workspace, "token", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}})
	require.NoError(t, err)
	good := map[string]*fleet.ClusterRegistration{}
	rows := requestRows()
	for n, r := range rows {
		good[r.name] = goodRequest(t, p.workspace, fmt.Sprintf("asker-%d", n))
		bad := good[r.name].DeepCopy()
		r.spoil(bad)
		// By somebody whom no policy turns away: there are hubs without policies.
		require.NoError(t, stage.Create(until(t), b.Hub, stage.Registrations, "ClusterRegistration", p.workspace, bad))
	}
	for _, r := range rows {
		b.granted(t, good[r.name], r.name, corev1.ConditionFalse, "InvalidRequest", r.says...)
	}
	seen := b.observe().of("fleet-controller", func(r shim.Request) bool { return r.Write() && r.Namespace == p.workspace })
	require.Empty(t, seen, "writes within %s, with %d bad requests:\n%s", window, len(rows), strings.Join(seen, "\n"))
	for _, r := range rows {
		b.correct(t, good[r.name])
		b.granted(t, good[r.name], r.name, corev1.ConditionTrue, "Granted")
	}
}

// What is far beyond all bounds is not even stored: whoever has a registration token could else fill the hub with it.
func TestARequestThatIsFarTooLargeIsNotStored(t *testing.T) {
	b := ofTheBed(t)
	t.Parallel()
	p := newPlace()
	require.NoError(t, b.EnsureNamespace(until(t), p.workspace))
	many := map[string]string{}
	for i := range 257 {
		many[fmt.Sprintf("label-%d", i)] = "v"
	}
	option := func(options fleet.AgentOptions) func(*fleet.ClusterRegistration) {
		return func(r *fleet.ClusterRegistration) { r.Spec.Agent = &fleet.RegistrationAgent{Options: &options} }
	}
	identity := func(id fleet.RegistrationIdentity) func(*fleet.ClusterRegistration) {
		return func(r *fleet.ClusterRegistration) { r.Spec.Identity = &id }
	}
	for field, spoil := range map[string]func(*fleet.ClusterRegistration){
		"spec.clientID":      func(r *fleet.ClusterRegistration) { r.Spec.ClientID = strings.Repeat("c", 1025) },
		"spec.clientRandom":  func(r *fleet.ClusterRegistration) { r.Spec.ClientRandom = strings.Repeat("r", 513) },
		"spec.clusterLabels": func(r *fleet.ClusterRegistration) { r.Spec.ClusterLabels = many },
		"a value 252": func(r *fleet.ClusterRegistration) {
			r.Spec.ClusterLabels = map[string]string{"env": strings.Repeat("x", 253)}
		},
		"a key may have 1268": func(r *fleet.ClusterRegistration) {
			r.Spec.ClusterLabels = map[string]string{strings.Repeat("x", 1269): ""}
		},
		"spec.identity.publicKey":  identity(fleet.RegistrationIdentity{PublicKey: strings.Repeat("k", 257)}),
		"spec.identity.clusterUID": identity(fleet.RegistrationIdentity{ClusterUID: strings.Repeat("u", 1025)}),
		"spec.identity.requester":  identity(fleet.RegistrationIdentity{Requester: strings.Repeat("r", 2049)}),
		"spec.agent.version": func(r *fleet.ClusterRegistration) {
			r.Spec.Agent = &fleet.RegistrationAgent{Version: strings.Repeat("v", 513)}
		},
		"spec.agent.options.envVars":     option(fleet.AgentOptions{EnvVars: slices.Repeat([]corev1.EnvVar{{Name: "A"}}, 2049)}),
		"spec.agent.options.tolerations": option(fleet.AgentOptions{Tolerations: make([]corev1.Toleration, 16385)}),
		"spec.agent.options.pullSecrets": option(fleet.AgentOptions{PullSecrets: make([]corev1.LocalObjectReference, 16385)}),
	} {
		bad := goodRequest(t, p.workspace, "asker")
		spoil(bad)
		err := stage.Create(until(t), b.Hub, stage.Registrations, "ClusterRegistration", p.workspace, bad)
		require.True(t, apierrors.IsInvalid(err), "%s: %v", field, err)
		require.ErrorContains(t, err, field)
	}
}

func goodRequest(t *testing.T, workspace, clientID string) *fleet.ClusterRegistration {
	t.Helper()
	name, err := registration.RequestName(rand.Reader)
	require.NoError(t, err)
	random, err := registration.Random(rand.Reader)
	require.NoError(t, err)
	return &fleet.ClusterRegistration{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, Labels: map[string]string{names.RegistrationTokenLabel: "token"}},
		Spec:       fleet.ClusterRegistrationSpec{ClientID: clientID, ClientRandom: random},
	}
}

// granted waits for what the hub says of a request.
func (b *bed) granted(t *testing.T, request *fleet.ClusterRegistration, what string, status corev1.ConditionStatus, reason string, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("%q: Granted=%s %s with %q", what, status, reason, parts), func(ctx context.Context) (bool, string, error) {
		r, err := stage.Get[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, request.Namespace, request.Name)
		if err != nil || r == nil {
			return false, "no request", err
		}
		granted := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionGranted)
		if granted == nil || granted.Status != status || granted.Reason != reason || !containsAll(granted.Message, parts) {
			return false, stage.Conditions(r.Status.Conditions), nil
		}
		return len(granted.Message) <= maxMessage && !strings.Contains(granted.Message, marker) && !strings.ContainsAny(granted.Message, "\x1b\t"), granted.Message, nil
	})
}

// correct makes a request the good one.
func (b *bed) correct(t *testing.T, good *fleet.ClusterRegistration) {
	t.Helper()
	requests := b.Hub.Dynamic.Resource(stage.Registrations).Namespace(good.Namespace)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(good)
	require.NoError(t, err)
	await(t, "a request to be corrected", func(ctx context.Context) (bool, string, error) {
		have, err := requests.Get(ctx, good.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		have.SetLabels(good.Labels)
		have.SetFinalizers(nil)
		have.Object["spec"], _, _ = unstructured.NestedMap(content, "spec")
		_, err = requests.Update(ctx, have, metav1.UpdateOptions{})
		return err == nil, "", err
	})
}
