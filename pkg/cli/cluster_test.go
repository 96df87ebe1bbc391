package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func listed(t *testing.T, clusters []fleet.Cluster, beats map[string]time.Time) []string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, printClusters(&out, clusterRows(hubState{clusters: clusters, beats: beats}), "", now))
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// What an agent, or a cluster that was imported, says ends in columns of their own and nowhere else.
func TestAListOfClustersShowsForeignTextAsText(t *testing.T) {
	evil := "\x1b[2J\u202ev1\n\tadmin\u009b31m" + strings.Repeat("x", 5000)
	lines := listed(t, []fleet.Cluster{{
		ObjectMeta: metav1.ObjectMeta{Namespace: evil, Name: evil},
		Status: fleet.ClusterStatus{
			Namespace: "cluster-a",
			Agent:     fleet.AgentStatus{Version: evil, Namespace: evil, Generation: evil},
			Conditions: []genericcondition.GenericCondition{
				{Type: fleet.ClusterConditionImported, Status: corev1.ConditionFalse, Message: evil},
			},
		},
	}}, nil)

	require.Len(t, lines, 2, "a heading and one cluster")
	for _, r := range lines[1] {
		assert.Equal(t, string(r), printable(string(r), 1), "%U", r)
	}
	assert.Less(t, len(lines[1]), 2*maxName+maxWord+maxSentence+200)
	assert.Contains(t, lines[1], "?[2J?v1??admin?31m")
}

func TestAListOfClustersIsSortedAndSaysWhatIsWaitedFor(t *testing.T) {
	beat := now.Add(-30 * time.Second)
	cluster := func(namespace, name string) fleet.Cluster {
		return fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	connected := cluster("a", "two")
	connected.Status.Namespace = "cluster-a-two"
	connected.Status.Agent = fleet.AgentStatus{Version: "v1", LastSeen: metav1.NewTime(now.Add(-time.Hour))}
	connected.Status.Conditions = []genericcondition.GenericCondition{{Type: fleet.ClusterConditionRegistered, Status: corev1.ConditionTrue}}

	lines := listed(t, []fleet.Cluster{cluster("b", "one"), connected, cluster("a", "one")}, map[string]time.Time{"cluster-a-two": beat})

	require.Len(t, lines, 4)
	assert.Regexp(t, `^a +one +Registering +agent +- +never +waiting for the agent's first heartbeat$`, lines[1])
	assert.Regexp(t, `^a +two +Connected +agent +v1 +30s ago +-$`, lines[2])
	assert.Regexp(t, `^b +one `, lines[3])
	assert.Equal(t, []string{"There are no clusters on this hub."}, listed(t, nil, nil))
}
