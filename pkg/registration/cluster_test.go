package registration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

func cluster(namespace, name string) *fleet.Cluster {
	return &fleet.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}}
}

func TestSkippedClusters(t *testing.T) {
	deleting, managed, unmanaged := cluster("a", "b"), cluster("a", "b"), cluster("a", "b")
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	managed.Labels[names.ClusterManagementLabel] = "other"
	unmanaged.Labels[names.ClusterManagementLabel] = ""
	assert.True(t, IsSkipped(nil))
	assert.False(t, IsSkipped(cluster("a", "b")))
	assert.True(t, IsSkipped(deleting))
	assert.True(t, IsSkipped(managed))
	assert.False(t, IsSkipped(unmanaged), "an empty label hands nothing over")
}

func TestLocalCluster(t *testing.T) {
	cfg := config.Config{Bootstrap: config.Bootstrap{Namespace: "fleet-local"}}
	assert.True(t, IsLocal(cluster("fleet-local", "local"), cfg))
	assert.False(t, IsLocal(cluster("fleet-default", "local"), cfg), "another workspace")
	assert.False(t, IsLocal(cluster("fleet-local", "edge"), cfg), "another name")
	assert.False(t, IsLocal(nil, cfg))
	assert.False(t, IsLocal(cluster("", "local"), config.Config{}), "the bootstrap is off")
	assert.False(t, IsLocal(cluster("-", "local"), config.Config{Bootstrap: config.Bootstrap{Namespace: "-"}}))

	assert.False(t, IsLocalDisabled(cluster("fleet-local", "local"), cfg))
	cfg.Bootstrap.LocalAgentDisabled = true
	assert.True(t, IsLocalDisabled(cluster("fleet-local", "local"), cfg))
	assert.False(t, IsLocalDisabled(cluster("fleet-default", "local"), cfg))
	assert.False(t, IsLocalDisabled(cluster("fleet-local", "edge"), cfg))
	assert.False(t, IsLocalDisabled(nil, cfg))
}

func TestJoinMethod(t *testing.T) {
	for _, test := range []struct{ namespace, name, label, secret, want string }{
		{"fleet-local", "local", "local", "local-cluster", JoinedLocally},
		{"hub-workspace", "local", "", "local-cluster", JoinedLocally},
		{"fleet-local", "local", "local", "local-kubeconfig", JoinedLocally},
		{"fleet-default", "edge", "", "edge-kubeconfig", JoinedByManager},
		{"fleet-default", "edge", "", "local-cluster", JoinedByManager},
		{"fleet-default", "edge", "local", "local-kubeconfig", JoinedByManager},
		{"fleet-default", "local", "local", "edge-kubeconfig", JoinedByManager},
		{"fleet-default", "edge", "", "", JoinedByAgent},
		{"fleet-default", "local", "local", "", JoinedByAgent},
	} {
		c := cluster(test.namespace, test.name)
		c.Spec.KubeConfigSecret = test.secret
		if test.label != "" {
			c.Labels["name"] = test.label
		}
		assert.Equal(t, test.want, JoinMethod(c), "%+v", test)
	}
}

func TestLifetimeFollowsWhoCanHeal(t *testing.T) {
	cfg := config.Default("dev")
	byManager, byAgent := cluster("a", "b"), cluster("a", "b")
	byManager.Spec.KubeConfigSecret = "edge-kubeconfig"

	assert.Equal(t, 90*24*time.Hour, Lifetime(byManager, cfg))
	assert.Equal(t, 365*24*time.Hour, Lifetime(byAgent, cfg))
	assert.Equal(t, 3*time.Minute, Grace(time.Minute))

	assert.Zero(t, LeastLife(byManager, cfg), "the hub heals it")
	assert.Equal(t, 30*24*time.Hour, LeastLife(byAgent, cfg))
	cfg.AgentCredential.OnShortLifetime = config.ShortLifetimeRenewOnly
	assert.Zero(t, LeastLife(byAgent, cfg))
}
