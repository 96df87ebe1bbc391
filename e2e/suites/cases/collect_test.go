package cases

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// shortest is the shortest time that the hub keeps a request which leads to nothing.
const shortest = time.Minute

// Requests that lead to nothing are collected with all that they were given; a cluster that is in use is left alone.
func TestRequestsThatLeadToNothingGoAndLeaveNothing(t *testing.T) {
	b, p := own(t, map[string]any{"registration": map[string]any{"ttlUngranted": shortest.String()}}), newPlace()
	b.manage(t, p, "stays")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "stays")
	before := b.requests(t, p.workspace)
	require.Len(t, before, 1)

	asking, err := b.NewToken(until(t), p.workspace, "asking", fleet.ClusterRegistrationTokenSpec{
		TTL: &metav1.Duration{Duration: time.Hour}, RequireApproval: true,
	})
	require.NoError(t, err)
	short, err := b.NewToken(until(t), p.workspace, "short", ttl(15*time.Second))
	require.NoError(t, err)
	started := time.Now()
	lost := []string{
		b.asks(t, p, "pending", "asking", asking), b.asks(t, p, "denied", "asking", asking), b.asks(t, p, "never-taken", "short", short),
	}
	b.says(t, p, lost[0], fleet.RegistrationConditionGranted, "WaitingForApproval")
	b.says(t, p, lost[1], fleet.RegistrationConditionGranted, "WaitingForApproval")
	_, err = b.Hub.Dynamic.Resource(stage.Registrations).Namespace(p.workspace).Patch(t.Context(), lost[1], types.MergePatchType,
		[]byte(`{"status":{"approval":{"decision":"deny","by":"ann","reason":"not ours"}}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	b.says(t, p, lost[1], fleet.RegistrationConditionGranted, "Denied")
	b.says(t, p, lost[2], fleet.RegistrationConditionGranted, "Granted")
	require.NotEmpty(t, b.givenTo(t, lost[2]), "what is to be gone later was there")
	b.says(t, p, lost[2], fleet.RegistrationConditionCredentialReady, "ImportAccountGone")

	ctx, cancel := context.WithTimeout(t.Context(), shortest+patience)
	defer cancel()
	require.NoError(t, stage.Await(ctx, "requests that lead to nothing to be gone", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		return len(list) == 1, describe(list), err
	}))
	require.GreaterOrEqual(t, time.Since(started), shortest, "they went before their time")
	for _, name := range lost {
		await(t, "everything of "+name+" to be gone", func(context.Context) (bool, string, error) {
			left := b.givenTo(t, name)
			return len(left) == 0, fmt.Sprint(left), nil
		})
	}
	after := b.requests(t, p.workspace)
	require.Equal(t, before[0].UID, after[0].UID)
	require.True(t, after[0].Status.Granted)
	require.NotEmpty(t, b.givenTo(t, after[0].Name))
	b.connected(t, p, "stays")
}

// asks sends a request with the values of a token, as an agent that then goes away, and returns its name.
func (b *bed) asks(t *testing.T, p place, clientID, tokenName string, values map[string]any) string {
	t.Helper()
	hub, err := b.Hub.AsToken("applicant", values["token"].(string))
	require.NoError(t, err)
	name, err := registration.RequestName(rand.Reader)
	require.NoError(t, err)
	random, err := registration.Random(rand.Reader)
	require.NoError(t, err)
	// The authorizer learns of a new account's rights by a watch.
	await(t, "leave to ask for a registration", func(ctx context.Context) (bool, string, error) {
		err := stage.Create(ctx, hub, stage.Registrations, "ClusterRegistration", p.workspace, &fleet.ClusterRegistration{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: name, Labels: map[string]string{names.RegistrationTokenLabel: tokenName}},
			Spec:       fleet.ClusterRegistrationSpec{ClientID: clientID, ClientRandom: random},
		})
		return err == nil, "", err
	})
	return name
}

// says waits until a condition of a request has a reason.
func (b *bed) says(t *testing.T, p place, request, kind, reason string) {
	t.Helper()
	await(t, "request "+request+" to say "+reason, func(ctx context.Context) (bool, string, error) {
		r, err := stage.Get[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace, request)
		if err != nil || r == nil {
			return false, "no such request", err
		}
		c := stage.Condition(r.Status.Conditions, kind)
		return c != nil && c.Reason == reason, stage.Conditions(r.Status.Conditions), nil
	})
}

// givenTo are the objects on the hub that were made for a request, wherever they are.
func (b *bed) givenTo(t *testing.T, request string) []string {
	t.Helper()
	var found []string
	note := func(kind string, meta metav1.ObjectMeta) {
		if meta.Annotations[names.ClusterRegistrationAnnotation] == request {
			found = append(found, kind+" "+meta.Namespace+"/"+meta.Name)
		}
	}
	kube, all := b.Hub.Kube, metav1.ListOptions{}
	accounts, err := kube.CoreV1().ServiceAccounts("").List(t.Context(), all)
	require.NoError(t, err)
	for _, obj := range accounts.Items {
		note("ServiceAccount", obj.ObjectMeta)
	}
	secrets, err := kube.CoreV1().Secrets("").List(t.Context(), all)
	require.NoError(t, err)
	for _, obj := range secrets.Items {
		note("Secret", obj.ObjectMeta)
	}
	roles, err := kube.RbacV1().Roles("").List(t.Context(), all)
	require.NoError(t, err)
	for _, obj := range roles.Items {
		note("Role", obj.ObjectMeta)
	}
	bindings, err := kube.RbacV1().RoleBindings("").List(t.Context(), all)
	require.NoError(t, err)
	for _, obj := range bindings.Items {
		note("RoleBinding", obj.ObjectMeta)
	}
	slices.Sort(found)
	return found
}
