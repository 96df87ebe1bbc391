package clusterimport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestClustersThatAreNotOursToImportAreLeftAlone(t *testing.T) {
	local := func(c *fleet.Cluster) { c.Name, c.Namespace = "local", "fleet-local" }
	disabled := func(f *facts) {
		f.config.Bootstrap = config.Bootstrap{Namespace: "fleet-local", LocalAgentDisabled: true}
	}
	for name, f := range map[string]facts{
		"being deleted":            factsOf(cluster(func(c *fleet.Cluster) { c.DeletionTimestamp = &metav1.Time{Time: now} })),
		"of another manager":       factsOf(cluster(func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "x"} })),
		"without a kubeconfig":     factsOf(cluster(func(c *fleet.Cluster) { c.Spec.KubeConfigSecret = "" })),
		"without a client ID":      factsOf(cluster(func(c *fleet.Cluster) { c.Spec.ClientID = "" })),
		"without a namespace":      factsOf(cluster(func(c *fleet.Cluster) { c.Status.Namespace = "" })),
		"well":                     factsOf(cluster(imported)),
		"disabled, never imported": factsOf(cluster(local), disabled),
		"disabled and torn down": factsOf(cluster(local, imported, func(c *fleet.Cluster) { c.Status.AgentDeployedGeneration = nil },
			is(fleet.ClusterConditionImported, metav1.ConditionFalse, "LocalAgentDisabled", now)), disabled),
	} {
		assert.Equal(t, nothing, decide(f).action, name)
	}
	// The reference's cases of TestImportCluster_LocalAgentDisabled.
	assert.Equal(t, teardown, decide(factsOf(cluster(local, imported), disabled)).action)
	begun := cluster(local, imported, func(c *fleet.Cluster) { c.Status.AgentDeployedGeneration = nil })
	assert.Equal(t, teardown, decide(factsOf(begun, disabled)).action, "an import that was under way")
	elsewhere := cluster(imported, func(c *fleet.Cluster) { c.Name = "local" })
	assert.Equal(t, nothing, decide(factsOf(elsewhere, disabled)).action, "only the name is local")
	assert.Equal(t, install, decide(factsOf(cluster(local), func(f *facts) { f.config.Bootstrap.Namespace = "fleet-local" })).action)
}

func TestARevokedClusterWaits(t *testing.T) {
	p := decide(factsOf(cluster(imported, func(c *fleet.Cluster) { c.Spec.Revoked = true })))
	assert.Equal(t, await, p.action)
	assert.Equal(t, "Revoked", p.reason)
}

// What makes an import due, and that each has an account of its own; the reference's cases of TestOnConfig are among them.
func TestWhatMakesAnImportDue(t *testing.T) {
	secretWith := func(url, ca string) func(*facts) {
		return func(f *facts) {
			f.secret = kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("a kubeconfig"), keyServerURL: []byte(url), keyServerCA: caOf(ca)})
		}
	}
	ownTarget := func(c *fleet.Cluster) {
		c.Status.APIServerURL, c.Status.APIServerCAHash = "https://own.example.com", caHash(caOf("own CA"))
	}
	conf := func(change func(*config.Config)) func(*facts) { return func(f *facts) { change(&f.config) } }
	url := conf(func(c *config.Config) { c.APIServerURL = "https://new.example.com" })
	ca := conf(func(c *config.Config) { c.APIServerCA = caOf("new CA") })
	tls := conf(func(c *config.Config) { c.AgentTLSMode = config.TLSSystemStore })
	gc := conf(func(c *config.Config) { c.GarbageCollectionInterval = metav1.Duration{Duration: time.Hour} })
	own := secretWith("https://own.example.com", "own CA")
	cases := map[string]struct {
		facts  facts
		action action
		says   string
		fresh  bool
	}{
		"never imported":                       {factsOf(cluster()), install, "first import", false},
		"imported by the reference":            {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Annotations = nil })), install, "earlier version", true},
		"the record is unreadable":             {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Annotations[names.ImportAnnotation] = "{" })), install, "earlier version", true},
		"the last one ended half way":          {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Status.AgentDeployedGeneration = nil })), install, "did not come to its end", false},
		"redeployAgentGeneration":              {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Spec.RedeployAgentGeneration = 5 })), install, "redeployAgentGeneration", true},
		"agentNamespace":                       {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Spec.AgentNamespace = "agents" })), install, "agentNamespace", true},
		"agentConfigChanged, by a person":      {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Status.AgentConfigChanged = true })), install, "agentConfigChanged", true},
		"no URL in secret, config's changes":   {factsOf(cluster(imported), url), install, "address", true},
		"no CA in secret, config's changes":    {factsOf(cluster(imported), ca), install, "CA", true},
		"no URL or CA in secret, TLS mode":     {factsOf(cluster(imported), tls), install, "agentTLSMode", true},
		"garbageCollectionInterval":            {factsOf(cluster(imported), gc), install, "garbageCollectionInterval", true},
		"own URL and CA, config's URL changes": {factsOf(cluster(imported, ownTarget), own, url), nothing, "", false},
		"own URL and CA, config's CA changes":  {factsOf(cluster(imported, ownTarget), own, ca), nothing, "", false},
		"own URL and CA, TLS mode":             {factsOf(cluster(imported, ownTarget), own, tls), install, "agentTLSMode", true},
		// T08: a change inside of the secret counts.
		"the secret's URL changes":           {factsOf(cluster(imported, ownTarget), secretWith("https://moved.example.com", "own CA")), install, "address", true},
		"the secret's CA changes":            {factsOf(cluster(imported, ownTarget), secretWith("https://own.example.com", "rotated")), install, "CA", true},
		"the secret loses its URL":           {factsOf(cluster(imported, ownTarget), secretWith("", "own CA")), install, "address", true},
		"the secret's URL gets a line break": {factsOf(cluster(imported, ownTarget), secretWith("https://own.example.com\n", "own CA")), nothing, "", false},
		"the kubeconfig changes": {factsOf(cluster(imported), func(f *facts) {
			f.secret = kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("another")})
		}), inspect, "kubeconfig", false},
		"the kubeconfig of a silent one changes": {factsOf(cluster(imported, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(-time.Hour)),
			recorded(lastImport(cluster(), func(r *registration.Import) { r.Attempts, r.Time = 9, now.Add(-time.Minute) }))), func(f *facts) {
			f.secret = kubeconfigSecret(map[string][]byte{keyKubeconfig: []byte("another")})
		}), inspect, "kubeconfig", false},
		"another resource version alone": {factsOf(cluster(imported), func(f *facts) { f.secret.ResourceVersion = "8" }), nothing, "", false},
		"a left namespace, agent there": {factsOf(cluster(imported, recorded(lastImport(cluster(), func(r *registration.Import) {
			r.Previous = []string{"old"}
		})))), prune, "", false},
		"a left namespace, agent not there yet": {factsOf(cluster(imported, recorded(lastImport(cluster(), func(r *registration.Import) {
			r.Previous = []string{"old"}
		})), func(c *fleet.Cluster) { c.Status.Agent.Namespace = "old" })), nothing, "", false},
		"a label": {factsOf(cluster(imported, func(c *fleet.Cluster) { c.Labels = map[string]string{"env": "prod"} })), nothing, "", false},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			p := decide(test.facts)
			assert.Equal(t, test.action, p.action, p.reason)
			assert.Contains(t, p.reason, test.says)
			assert.Equal(t, test.fresh, p.fresh)
		})
	}
}

// A02: what both paths compute from the same options is never a reason for an import while the agent is well.
func TestOtherAgentOptionsReachAWellAgentByItsBundle(t *testing.T) {
	f := factsOf(cluster(imported), func(f *facts) { f.config.AgentImage = "rancher/fleet-agent:v2" })
	assert.Equal(t, nothing, decide(f).action)
}

func TestTheIntervalOfGarbageCollectionIsComparedByItsMeaning(t *testing.T) {
	hour := metav1.Duration{Duration: time.Hour}
	assert.True(t, sameInterval(nil, metav1.Duration{}))
	assert.True(t, sameInterval(&metav1.Duration{}, metav1.Duration{}))
	assert.True(t, sameInterval(&hour, hour))
	assert.False(t, sameInterval(nil, hour))
	assert.False(t, sameInterval(&hour, metav1.Duration{}))
}

// Once a trouble is over, nobody is to read of it any more.
func TestATroubleThatIsOverIsTakenBack(t *testing.T) {
	trouble := is(fleet.ClusterConditionImported, metav1.ConditionFalse, "NoServerURL", now)
	assert.Equal(t, confirm, decide(factsOf(cluster(imported, trouble))).action)

	silent := is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(-2*time.Hour))
	justNow := recorded(lastImport(cluster(), func(r *registration.Import) { r.Time = now.Add(-time.Second) }))
	p := decide(factsOf(cluster(imported, trouble, silent, justNow)))
	assert.Equal(t, nothing, p.action, "it is not over while the next import is due")
	assert.Positive(t, p.again)
}
