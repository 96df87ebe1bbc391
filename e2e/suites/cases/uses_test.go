package cases

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Attack 12: a token that is good for one cluster lets one in, however many ask at the same moment.
func TestOneOfFiftyRivalsGetsTheOneUseOfAToken(t *testing.T) {
	b, p := shared(t), newPlace()
	b.workspace(t, p.workspace)
	one := int32(1)
	values, err := b.NewToken(until(t), p.workspace, "once", fleet.ClusterRegistrationTokenSpec{TTL: &metav1.Duration{Duration: time.Hour}, MaxUses: &one})
	require.NoError(t, err)

	const rivals = 50
	var asking sync.WaitGroup
	for i := range rivals {
		asking.Go(func() { b.asks(t, p, fmt.Sprintf("rival-%d", i), "once", values) })
	}
	asking.Wait()

	await(t, "one request to be granted and all others to be refused", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.ClusterRegistration](ctx, b.Hub, stage.Registrations, p.workspace)
		granted, refused := 0, 0
		for _, r := range list {
			c := stage.Condition(r.Status.Conditions, fleet.RegistrationConditionGranted)
			switch {
			case r.Status.Granted:
				granted++
			case c != nil && c.Reason == "TokenUsedUp":
				refused++
			}
		}
		return granted == 1 && refused == rivals-1, fmt.Sprintf("%d granted, %d refused of %d", granted, refused, len(list)), err
	})
	clusters, err := stage.List[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, p.workspace)
	require.NoError(t, err)
	require.Len(t, clusters, 1, "nothing is made for those that are refused")
	token, err := stage.Get[fleet.ClusterRegistrationToken](t.Context(), b.Hub, stage.Tokens, p.workspace, "once")
	require.NoError(t, err)
	require.Equal(t, int32(1), token.Status.Uses)
}
