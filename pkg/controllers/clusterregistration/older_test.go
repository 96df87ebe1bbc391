package clusterregistration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/registration"
)

// What was granted to a request that nobody came to use would else be good until its token ends, whenever the names
// happen to sort that way.
func TestOfTwoRequestsOfOneSecondTheOneInUseStays(t *testing.T) {
	at := func(r *fleet.ClusterRegistration, second int) *fleet.ClusterRegistration {
		r.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(second) * time.Second))
		return r
	}
	inUse := func(r *fleet.ClusterRegistration) *fleet.ClusterRegistration { used(r); return r }
	for name, test := range map[string]struct {
		other, used *fleet.ClusterRegistration
		goes        bool
	}{
		"an earlier one":                             {at(request(named("request-b")), 0), inUse(at(request(named("request-a")), 1)), true},
		"an earlier one that was used":               {at(inUse(request(named("request-b"))), 0), inUse(at(request(named("request-a")), 1)), true},
		"a later one":                                {at(request(named("request-a")), 1), inUse(at(request(named("request-b")), 0)), false},
		"one of the same second that sorts first":    {request(named("request-a")), inUse(request(named("request-b"))), true},
		"one of the same second that sorts last":     {request(named("request-b")), inUse(request(named("request-a"))), true},
		"one of the same second in use, sorts first": {inUse(request(named("request-a"))), inUse(request(named("request-b"))), true},
		"one of the same second in use, sorts last":  {inUse(request(named("request-b"))), inUse(request(named("request-a"))), false},
	} {
		assert.Equal(t, test.goes, older(test.other, test.used), name)
	}
}

// The same by the handler: whichever name the one in use has, the other goes.
func TestTheOtherRequestOfTheSameSecondGoesWhateverItsName(t *testing.T) {
	for _, other := range []string{"request-0", "request-2"} {
		t.Run(other, func(t *testing.T) {
			h := joining(t)
			second := request(named(other))
			second.Spec.ClientRandom = "another random"
			h.registrations.Add(second)
			require.NoError(t, h.look(t, "request-1"))
			r := h.live("request-1")
			require.True(t, r.CreationTimestamp.Equal(&second.CreationTimestamp))
			registration.MarkUsed(&r.Status, r.Status.Credentials[0], now)
			_, err := h.registrations.UpdateStatus(r)
			require.NoError(t, err)

			require.NoError(t, h.look(t, "request-1"))

			assert.Nil(t, h.live(other))
			assert.NotNil(t, h.live("request-1"))
		})
	}
}
