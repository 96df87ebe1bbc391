package registration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
	"github.com/rancher/fleet/pkg/registration"
)

func TestACheckInIsAwaitedUntilTheAgentShowsUp(t *testing.T) {
	now := time.Unix(1000, 0)
	connected := func(s *fleet.ClusterStatus) {
		conditions.SetCondition(&s.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionTrue, "", "", now)
	}
	reported := func(s *fleet.ClusterStatus) { s.Agent.LastSeen = metav1.NewTime(now) }
	silent := func(s *fleet.ClusterStatus) {
		conditions.SetCondition(&s.Conditions, fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", "", now)
	}
	for name, test := range map[string]struct {
		have string
		is   []func(*fleet.ClusterStatus)
		want string
	}{
		"a new cluster": {want: "WaitCheckIn"},
		"a new cluster that is told to be silent": {is: []func(*fleet.ClusterStatus){silent}, want: "WaitCheckIn"},
		"a heartbeat":                           {is: []func(*fleet.ClusterStatus){connected}},
		"a report, of an agent without a Lease": {is: []func(*fleet.ClusterStatus){reported}},
		"silent after a report":                 {is: []func(*fleet.ClusterStatus){reported, silent}},
		"a state of the bundles stays":          {have: "NotReady", want: "NotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			status := fleet.ClusterStatus{Display: fleet.ClusterDisplay{State: test.have}}
			for _, is := range test.is {
				is(&status)
			}
			registration.AwaitCheckIn(&status)
			assert.Equal(t, test.want, status.Display.State)
			registration.CheckedIn(&status)
			assert.NotEqual(t, "WaitCheckIn", status.Display.State)
			if test.have != "" {
				assert.Equal(t, test.have, status.Display.State, "what the bundles say stays")
			}
		})
	}
}
