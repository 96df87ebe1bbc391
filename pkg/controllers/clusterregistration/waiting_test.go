package clusterregistration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestOnlyAgentsThatAskedLatelyAndHaveNoAnswerWait(t *testing.T) {
	h := newHub(t)
	asked := func(ago time.Duration) change[*fleet.ClusterRegistration] { return created(now.Add(-ago)) }
	h.registrations.Add(
		request(named("request-1"), asked(0)),
		request(named("request-2"), asked(lately-time.Second)),
		request(named("request-3"), asked(lately)),
		request(named("request-4"), asked(0), granted),
		request(named("request-5"), asked(0), refusedFor(reasonNameTaken, now)),
		request(named("request-6"), asked(0), func(r *fleet.ClusterRegistration) { r.DeletionTimestamp = &metav1.Time{Time: now} }),
	)
	assert.Equal(t, 2, h.waiting())
}
