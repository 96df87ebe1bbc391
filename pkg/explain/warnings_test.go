package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func warned(about, reason, message string, d time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Warnings.Value = append(f.Warnings.Value, Warning{Time: at(d), About: about, Reason: reason, Message: message})
	}
}

func TestWarningsSayWhatIsOver(t *testing.T) {
	denial := "Request request-new was denied by jane"
	f := managed(connected, asked("new", 2*time.Hour, anotherKey, refused(ReasonDenied), decided(Deny)),
		warned("Cluster edge-1", "KubeconfigMissing", "Imported=False: Secret x does not exist", time.Hour),
		warned("ClusterRegistration request-new", "IdentityConflict", "Granted=False: bound to another", 2*time.Hour),
		warned("Cluster edge-1", "IdentityConflict", "Request request-new is refused: somebody asks for this cluster", 2*time.Hour),
		warned("ClusterRegistration request-new", ReasonDenied, denial, 3*time.Hour),
		warned("Cluster edge-1", ReasonDenied, denial, 3*time.Hour),
		warned("Cluster elsewhere", "Strange", "Imported=False: of another", 0))
	over := func() map[string]bool {
		out := map[string]bool{}
		for _, w := range Explain(f).Warnings {
			out[w.Message] = w.Over
		}
		return out
	}
	require.Len(t, Explain(f).Warnings, 5, "a denial is told once")
	assert.Equal(t, map[string]bool{
		"Imported=False: Secret x does not exist": true, "Granted=False: bound to another": true, denial: false,
		"Request request-new is refused: somebody asks for this cluster": true, "Imported=False: of another": false,
	}, over())

	f.Requests.Value[1].Status.Approval = &fleet.RegistrationApproval{Decision: Replace, By: "jane"}
	assert.True(t, over()[denial])
	assert.Equal(t, "Strange", Explain(f).Warnings[0].Reason, "what holds comes first")
}
