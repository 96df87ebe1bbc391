package handshake

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/shim"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// R17, R02: the hub begins to import a silent cluster anew, and the agent beats again before the import is done. What the
// agent was given before is dead by then; it is given another all the same.
func TestAnImportThatLostItsReasonHalfWayLeavesABootstrapThatLives(t *testing.T) {
	b := shared(t)
	p := b.ownWorkspace(t)
	agent := b.join(t, byManager{}, p)
	first := b.request(t, p)

	// The agent sleeps while it is given something new to register with.
	agent.signal(t, syscall.SIGSTOP)
	_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.workspace).Patch(t.Context(), p.cluster, types.MergePatchType,
		[]byte(`{"spec":{"redeployAgentGeneration":1}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = b.AwaitCluster(until(t), p.workspace, p.cluster, "imported anew", func(c *fleet.Cluster) bool {
		return c.Status.AgentDeployedGeneration != nil && *c.Status.AgentDeployedGeneration == 1
	})
	require.NoError(t, err)

	// It is silent long enough for another import, of which the hub has replaced the token and not made the account yet.
	release := make(chan struct{})
	held := b.hubFront.Inject(shim.Rule{
		Match: func(r shim.Request) bool {
			return r.UserAgent == controllerAgent && r.Verb == "create" && r.Resource == "serviceaccounts" && r.Namespace == stage.RegistrationNamespace
		},
		Times: 1, Before: func(shim.Request) { <-release },
	})
	defer held.Remove()
	await(t, "the end of the token", func(ctx context.Context) (bool, string, error) {
		for _, r := range b.hubFront.Requests() {
			if r.UserAgent == controllerAgent && r.Verb == "create" && r.Resource == "serviceaccounts" && r.Namespace == stage.RegistrationNamespace && r.Code == 0 {
				return true, "", nil
			}
		}
		return false, "", nil
	})
	agent.signal(t, syscall.SIGCONT)
	b.connected(t, p)
	close(release)

	b.request(t, p, first)
	b.connected(t, p)
}
