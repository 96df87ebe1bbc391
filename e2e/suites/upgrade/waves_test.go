package upgrade_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// soak is how long canaries are watched.
const soak = 4 * time.Second

// A15, and the waves: a new image reaches all agents without another trigger, first the canary, after its soak the others,
// one at a time; one that is offline is left out and gets it when it comes back.
func TestANewImageReachesAllAgentsInWaves(t *testing.T) {
	b := theBed(t)
	offline, canary := b.three[1], b.three[2]
	others := []*cluster{b.three[0], b.byManager(t, "managed-too", nil)}
	online := append([]*cluster{canary}, others...)
	states := map[*cluster]state{}
	for _, c := range append(online, offline) {
		states[c] = c.joined(t)
	}
	canary.label(t, "canary", "true")
	offline.scale(t, 0)
	_, err := b.AwaitCluster(stage.Until(t, patience), stage.Workspace, offline.name, "silent", func(c *fleet.Cluster) bool {
		connected := stage.Condition(c.Status.Conditions, fleet.ClusterConditionAgentConnected)
		return connected != nil && connected.Status == "False"
	})
	require.NoError(t, err)

	require.NoError(t, b.Configure(t.Context(), func(config map[string]any) {
		config["agentImage"] = "rancher/fleet-agent:next"
		config["agentUpgrade"] = map[string]any{
			"canary": map[string]any{"matchLabels": map[string]any{"canary": "true"}}, "maxUnavailable": 1, "soak": soak.String(),
		}
	}))
	w := watchWave(t, online)
	require.Equal(t, canary.name, w.order[0], "%+v", w)
	require.GreaterOrEqual(t, w.given[w.order[1]].Sub(w.back[canary.name]), soak-w.between, "the canary is watched: %+v", w)
	require.LessOrEqual(t, w.most, 1, "under way at once")
	for _, c := range online {
		states[c] = c.rolledOnce(t, states[c], "a new image")
		d, err := c.deployment(t.Context())
		require.NoError(t, err)
		require.Equal(t, "rancher/fleet-agent:next", d.Spec.Template.Spec.Containers[0].Image)
	}
	offline.awaitUpgraded(t, "waits for the agent", func(status, reason, message string) bool {
		return status == "Unknown" && reason == "Waiting" && strings.Contains(message, "waits for the agent to connect")
	})
	offline.scale(t, 1)
	after := offline.settle(t, "caught up", func(now state) bool { return now.generation != states[offline].generation })
	require.Equal(t, next(t, states[offline].revision), after.revision)
	others[1].leave(t)
}

// wave is how a configuration reached the agents.
type wave struct {
	// order is that in which bundles got the new generation, at the times given; back is when agents came back with it.
	order       []string
	given, back map[string]time.Time
	// most is how many were under way at once, between how long a look took at most.
	most    int
	between time.Duration
}

// watchWave looks at all clusters until every agent runs another generation than now.
func watchWave(t *testing.T, clusters []*cluster) wave {
	t.Helper()
	w := wave{given: map[string]time.Time{}, back: map[string]time.Time{}}
	before := map[string]string{}
	last := time.Now()
	await(t, "all agents to come back with the new image", func(ctx context.Context) (bool, string, error) {
		under, b := 0, clusters[0].bed
		// Bundles first: an agent that comes back between the two reads is not counted.
		bundles := map[string]string{}
		for _, c := range clusters {
			bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, names.AgentBundle(c.name))
			if err != nil || bundle == nil {
				return false, "no bundle", err
			}
			bundles[c.name] = stage.GivenGeneration(bundle)
		}
		objects, err := stage.List[fleet.Cluster](ctx, b.Hub, stage.Clusters, stage.Workspace)
		if err != nil {
			return false, "", err
		}
		now := time.Now()
		w.between, last = max(w.between, now.Sub(last)), now
		for _, object := range objects {
			generation, ours := bundles[object.Name]
			if !ours {
				continue
			}
			if before[object.Name] == "" {
				before[object.Name] = object.Status.Agent.Generation
			}
			if generation == before[object.Name] {
				continue
			}
			if w.given[object.Name].IsZero() {
				w.order, w.given[object.Name] = append(w.order, object.Name), now
			}
			if object.Status.Agent.Generation == generation && w.back[object.Name].IsZero() {
				w.back[object.Name] = now
			}
			if object.Status.Agent.Generation != generation {
				under++
			}
		}
		w.most = max(w.most, under)
		return len(w.back) == len(clusters), fmt.Sprintf("%+v", w), nil
	})
	return w
}

func (c *cluster) label(t *testing.T, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := c.Hub.Dynamic.Resource(stage.Clusters).Namespace(stage.Workspace).Patch(t.Context(), c.name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// scale starts and ends an agent as a tool would.
func (c *cluster) scale(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	_, err := c.at.Kube.AppsV1().Deployments(c.agents).Patch(t.Context(), names.AgentDeployment, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}
