package clusterregistration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// Times have whole seconds. What is taken from the wrong one of two requests cuts a working agent off.
func TestOnlyARequestThatIsOlderForCertainGoes(t *testing.T) {
	at := func(r *fleet.ClusterRegistration, second int) *fleet.ClusterRegistration {
		r.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(second) * time.Second))
		return r
	}
	inUse := func(r *fleet.ClusterRegistration, second int) *fleet.ClusterRegistration {
		record := fleet.CredentialRecord{}
		registration.MarkUsed(&r.Status, record, now.Add(time.Duration(second)*time.Second))
		return r
	}
	a, b := func() *fleet.ClusterRegistration { return request(named("request-a")) }, func() *fleet.ClusterRegistration { return request(named("request-b")) }
	for name, test := range map[string]struct {
		other, used *fleet.ClusterRegistration
		goes        bool
	}{
		"an earlier one":                            {at(b(), 0), inUse(at(a(), 1), 2), true},
		"an earlier one that was used":              {inUse(at(b(), 0), 1), inUse(at(a(), 1), 2), true},
		"a later one":                               {at(a(), 1), inUse(at(b(), 0), 2), false},
		"one of the same second, sorts first":       {a(), inUse(b(), 1), false},
		"one of the same second, sorts last":        {b(), inUse(a(), 1), false},
		"one of the same second that was used":      {inUse(b(), 1), inUse(a(), 2), true},
		"one of the same second, used since":        {inUse(a(), 2), inUse(b(), 1), false},
		"one of which nothing tells, sorts first":   {inUse(a(), 1), inUse(b(), 1), true},
		"one of which nothing tells, sorts last":    {inUse(b(), 1), inUse(a(), 1), false},
		"one whose use began before the other came": {inUse(a(), 0), inUse(b(), 1), true},
	} {
		assert.Equal(t, test.goes, new(births).older(test.other, test.used), name)
	}
}

// An agent that registers again within the second, as one whose account was just deleted does.
func TestOfTwoRequestsOfOneSecondTheOneSeenFirstIsOlder(t *testing.T) {
	for _, names := range [][2]string{{"request-1", "request-2"}, {"request-2", "request-1"}} {
		t.Run(names[0]+" first", func(t *testing.T) {
			h := newHub(t)
			h.clusters.Add(cluster())
			h.namespaces.Add(placeOf(edgeUID))
			h.tokens.Add(token())
			h.accounts.Add(importAccount(token()))
			for i, name := range names {
				r := request(named(name), func(r *fleet.ClusterRegistration) {
					r.UID, r.Spec.ClientRandom = types.UID(fmt.Sprint("uid-", i)), "random-"+name
				})
				h.registrations.Add(r)
				require.NoError(t, h.look(t, name))
			}
			first, second := names[0], names[1]
			use := func(name string) {
				r := h.live(name)
				registration.MarkUsed(&r.Status, r.Status.Credentials[0], now)
				_, err := h.registrations.UpdateStatus(r)
				require.NoError(t, err)
				require.NoError(t, h.look(t, name))
			}
			use(first)
			require.NotNil(t, h.live(second), "its agent is about to use it")
			use(second)
			assert.Nil(t, h.live(first))
			assert.NotNil(t, h.live(second))
		})
	}
}
