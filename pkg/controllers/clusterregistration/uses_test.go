package clusterregistration

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// limited is a hub with a person's token that grants so many requests, and so many requests with it.
func limited(t *testing.T, uses int32, requests int) *hub {
	t.Helper()
	h := newHub(t)
	shared := token(ofAPerson, func(t *fleet.ClusterRegistrationToken) { t.Spec.MaxUses = ptr.To(uses) })
	h.tokens.Add(shared)
	h.accounts.Add(importAccount(shared))
	for i := range requests {
		h.registrations.Add(request(named(fmt.Sprintf("request-%d", i)), ofClient(fmt.Sprintf("client-%d", i)), func(r *fleet.ClusterRegistration) {
			r.UID, r.Labels = types.UID(fmt.Sprintf("uid-%d", i)), map[string]string{names.RegistrationTokenLabel: "shared"}
			r.Spec.Identity.Requester = names.AccountUser(hubNames().Registration, names.Account("shared", tokenUID))
		}))
	}
	return h
}

func (h *hub) pass(t *testing.T, name string) error {
	t.Helper()
	r, err := h.registrations.Cache().Get(workspace, name)
	require.NoError(t, err)
	_, err = h.onChange(workspace+"/"+name, r)
	return err
}

func TestATokenGrantsNoMoreRequestsThanItMay(t *testing.T) {
	h := limited(t, 2, 3)
	for i := range 3 {
		require.NoError(t, h.pass(t, fmt.Sprintf("request-%d", i)))
	}
	assert.Equal(t, 2, h.clusters.Len())
	live := h.tokens.Live(workspace, "shared")
	assert.Equal(t, []string{"uid-0", "uid-1"}, live.Status.UsedBy)
	assert.Equal(t, int32(2), live.Status.Uses)

	late := conditions.GetCondition(h.registrations.Live(workspace, "request-2").Status.Conditions, fleet.RegistrationConditionGranted)
	require.NotNil(t, late)
	assert.Equal(t, reasonTokenUsedUp, late.Reason)
	assert.Contains(t, late.Message, "spec.maxUses is 2")
	assert.Empty(t, h.registrations.Live(workspace, "request-2").Status.ClusterName)

	require.NoError(t, h.pass(t, "request-0"))
	assert.Len(t, h.tokens.Live(workspace, "shared").Status.UsedBy, 2, "a request is counted once")

	raised := h.tokens.Live(workspace, "shared")
	raised.Spec.MaxUses = ptr.To(int32(3))
	h.tokens.Add(raised)
	require.NoError(t, h.pass(t, "request-2"))
	assert.Equal(t, 3, h.clusters.Len())
}

// The cache of the one who decides is always behind when many ask at once.
func TestUsesAreCountedOnWhatTheAPIServerHas(t *testing.T) {
	h := limited(t, 1, 2)
	h.tokens.Hide(workspace, "shared")
	stale := token(ofAPerson, func(t *fleet.ClusterRegistrationToken) { t.Spec.MaxUses = ptr.To(int32(1)) })
	stale.ResourceVersion = h.tokens.Live(workspace, "shared").ResourceVersion
	for i, want := range []bool{false, true} {
		r := h.registrations.Live(workspace, fmt.Sprintf("request-%d", i))
		full, err := h.countUse(input{request: r, token: stale, now: now, config: h.Config.Get(), namespaces: h.Names}, decision{outcome: create, cluster: cluster()})
		require.NoError(t, err)
		assert.Equal(t, want, full, r.Name)
	}
	assert.Equal(t, []string{"uid-0"}, h.tokens.Live(workspace, "shared").Status.UsedBy)
	assert.Equal(t, reasonTokenUsedUp, grantedReason(h.registrations.Live(workspace, "request-1")))
}

func TestATokenThatSaysNoLimitHasThatOfTheConfiguration(t *testing.T) {
	h := limited(t, 1, 2)
	own := h.tokens.Live(workspace, "shared")
	own.Spec.MaxUses = nil
	h.tokens.Add(own)
	_, err := h.source.Load(&corev1.ConfigMap{Data: map[string]string{names.ConfigKey: "registration: {maxUses: 1}"}})
	require.NoError(t, err)
	for i := range 2 {
		require.NoError(t, h.pass(t, fmt.Sprintf("request-%d", i)))
	}
	assert.Equal(t, 1, h.clusters.Len())
	assert.Equal(t, []string{"uid-0"}, h.tokens.Live(workspace, "shared").Status.UsedBy)
	late := conditions.GetCondition(h.live("request-1").Status.Conditions, fleet.RegistrationConditionGranted)
	assert.Equal(t, reasonTokenUsedUp, late.Reason)
	assert.Contains(t, late.Message, "registration.maxUses of the hub's configuration is 1")

	assert.Zero(t, registration.UseLimit(token(), h.Config.Get()), "the token of an import grants as often as the hub heals")
}

func TestATokenWithoutALimitIsNotWritten(t *testing.T) {
	h := limited(t, 1, 1)
	free := h.tokens.Live(workspace, "shared")
	free.Spec.MaxUses = nil
	h.tokens.Add(free)
	require.NoError(t, h.pass(t, "request-0"))
	assert.Empty(t, h.tokens.Writes())
	assert.Equal(t, 1, h.clusters.Len())
}
