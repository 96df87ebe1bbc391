package heartbeat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/hubtest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/codegen/crdfacts"
	"github.com/rancher/fleet/pkg/registration"
)

// A report that the server refuses would make the agent look silent.
func TestAReportIsNoLongerThanTheServerTakes(t *testing.T) {
	facts, err := crdfacts.All()
	require.NoError(t, err)
	bound := fmt.Sprintf("maxLength=%d", registration.MaxAgentText)
	bounded := 0
	for _, fact := range facts["Cluster"] {
		if fact.Path == "status.agent.version" || fact.Path == "status.agent.generation" {
			assert.True(t, fact.Has(bound), fact.Path)
			bounded++
		}
	}
	require.Equal(t, 2, bounded)

	h := hubtest.New(t, hubtest.Options{})
	long := strings.Repeat("x", 3*registration.MaxAgentText)
	a := start(t, h, func(o *Options) { o.Version, o.Generation = "v"+long, "g"+long })
	a.idle()
	var cluster fleet.Cluster
	require.True(t, h.Get(hubtest.Clusters, hubtest.Workspace, hubtest.Cluster, &cluster))
	assert.Equal(t, "v"+long[:registration.MaxAgentText-1], cluster.Status.Agent.Version)
	assert.Equal(t, "g"+long[:registration.MaxAgentText-1], cluster.Status.Agent.Generation)
}
