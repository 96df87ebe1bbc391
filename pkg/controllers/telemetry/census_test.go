package telemetry

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// more are the figures that are not 0.
func more(figures map[pair]int) map[pair]int {
	out := map[pair]int{}
	for key, n := range figures {
		if n != 0 {
			out[key] = n
		}
	}
	return out
}

func registered(c *fleet.Cluster) *fleet.Cluster {
	c.Status.Conditions = append(c.Status.Conditions, isTrue(fleet.ClusterConditionRegistered, "CredentialUsed"))
	return c
}

func at(after time.Duration) *metav1.Time { return &metav1.Time{Time: began.Add(after)} }

func TestTheCensusCountsWhatThereIs(t *testing.T) {
	c := newCensus()
	managed := registered(cluster("managed"))
	managed.Spec.KubeConfigSecret = "kubeconfig"
	local := registered(cluster("local"))
	local.Spec.KubeConfigSecret = "local-cluster"
	silent := registered(cluster("silent", isFalse(fleet.ClusterConditionAgentConnected, "Silent")))
	for _, one := range []*fleet.Cluster{managed, local, silent, cluster("new"), leaving(cluster("gone")), elsewhere(cluster("x"))} {
		c.addCluster(one, began)
	}
	assert.Equal(t, map[pair]int{
		{"Connected", "manager"}: 1, {"Connected", "local"}: 1, {"Silent", "agent"}: 1, {"Registering", "agent"}: 1, {"Leaving", "agent"}: 1,
	}, more(c.clusters))

	for _, one := range []*fleet.ClusterRegistration{
		request("new"), request("waits", isFalse(granted, "WaitingForNamespace")), request("denied", isFalse(granted, "Denied")),
		request("refused", isFalse(granted, "TokenUnknown")), request("odd", isFalse(granted, "FullMoon")), request("granted", isTrue(granted, "Granted")),
	} {
		c.addRequest(one)
	}
	assert.Equal(t, map[pair]int{{"Unanswered"}: 1, {"WaitingForNamespace"}: 1, {"Denied"}: 1, {"TokenUnknown"}: 1, {"other"}: 1}, more(c.ungranted))

	const ready = fleet.TokenConditionReady
	going := token("going", isFalse(ready, "BeingDeleted"))
	going.DeletionTimestamp = at(0)
	for _, one := range []*fleet.ClusterRegistrationToken{
		token("new"), token("waits", isFalse(ready, "WaitingForToken")), token("ready", isTrue(ready, "")),
		token("stuck", isFalse(ready, "SecretConflict")), going,
		token("full", isTrue(ready, ""), isFalse(fleet.TokenConditionRequestsAccepted, "TooManyRequests")),
		token("emptied", isTrue(ready, ""), isTrue(fleet.TokenConditionRequestsAccepted, "")),
	} {
		c.addToken(one)
	}
	assert.Equal(t, map[pair]int{{"Waiting"}: 2, {"Ready"}: 2, {"Failing"}: 1, {"Leaving"}: 1, {"Crowded"}: 1}, more(c.tokens))
}

func TestCredentialsAreCountedByTheirEnd(t *testing.T) {
	for left, want := range map[time.Duration]string{
		-time.Hour: "expired", 0: "expired", time.Second: "<1d", day - 1: "<1d", day: "<7d", 7*day - 1: "<7d", 7 * day: "<30d",
		30*day - 1: "<30d", 30 * day: "<90d", 90*day - 1: "<90d", 90 * day: "more", 3650 * day: "more",
	} {
		assert.Equal(t, want, term(at(left), began), left)
	}
	assert.Equal(t, "unknown", term(nil, began))
}

func TestEachClusterIsCountedForWhatItHas(t *testing.T) {
	full := registered(cluster("c"))
	full.Spec.KubeConfigSecret = "kubeconfig"
	full.Status.Credential = &fleet.CredentialStatus{
		Type: "TokenRequest", Expires: at(40 * day), HubCAExpires: at(10 * day), KubeconfigExpires: at(-day), KubeconfigCAExpires: at(400 * day),
	}
	endless := registered(cluster("c"))
	endless.Status.Credential = &fleet.CredentialStatus{Type: "Secret"}
	waiting := cluster("c")
	waiting.Spec.KubeConfigSecret = "kubeconfig"
	revoked := full.DeepCopy()
	revoked.Spec.Revoked = true
	for name, test := range map[string]struct {
		cluster *fleet.Cluster
		want    map[string]string
	}{
		"all":           {full, map[string]string{"agent": "<90d", "hub_ca": "<30d", "kubeconfig": "expired", "kubeconfig_ca": "more"}},
		"without end":   {endless, map[string]string{"agent": "more", "hub_ca": "unknown"}},
		"unknown":       {registered(cluster("c")), map[string]string{"agent": "unknown", "hub_ca": "unknown"}},
		"not joined":    {waiting, map[string]string{"kubeconfig": "unknown", "kubeconfig_ca": "unknown"}},
		"nothing at it": {cluster("c"), map[string]string{}},
		"revoked":       {revoked, map[string]string{}},
		"leaving":       {leaving(full.DeepCopy()), map[string]string{}},
	} {
		got := credentialTerms(test.cluster, began)
		assert.Len(t, got, len(test.want), name)
		for key, value := range test.want {
			assert.Equal(t, value, got[key], "%s: %s", name, key)
		}
	}
}

func BenchmarkCensusOf10000Clusters(b *testing.B) {
	clusters := make([]*fleet.Cluster, 10_000)
	for i := range clusters {
		clusters[i] = registered(cluster("c", isTrue(fleet.ClusterConditionProcessed, ""), isTrue(fleet.ClusterConditionAgentConnected, "Heartbeat")))
	}
	for b.Loop() {
		c := newCensus()
		for _, one := range clusters {
			c.addCluster(one, began)
		}
	}
}

// A change that is none costs the informer this much.
func BenchmarkAChangeOfACluster(b *testing.B) {
	c := registered(cluster("c", isTrue(fleet.ClusterConditionProcessed, ""), isTrue(fleet.ClusterConditionAgentConnected, "Heartbeat")))
	for b.Loop() {
		clusterNews(c, c)
	}
}
