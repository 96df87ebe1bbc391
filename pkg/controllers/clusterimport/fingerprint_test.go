package clusterimport

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func TestTheFingerprintCoversWhatADecisionRestsOn(t *testing.T) {
	base := func() facts { return factsOf(cluster(imported)) }
	want := fingerprint(base(), "t")
	onCluster := func(change func(*fleet.Cluster)) facts { return factsOf(cluster(imported, change)) }
	with := func(change func(*facts)) facts { return factsOf(cluster(imported), change) }
	for name, f := range map[string]facts{
		"another Cluster of the name": onCluster(func(c *fleet.Cluster) { c.UID = "uid-2" }),
		"the spec":                    onCluster(func(c *fleet.Cluster) { c.Generation = 2 }),
		"another manager":             onCluster(func(c *fleet.Cluster) { c.Labels = map[string]string{names.ClusterManagementLabel: "x"} }),
		"the record":                  onCluster(func(c *fleet.Cluster) { delete(c.Annotations, names.ImportAnnotation) }),
		"the namespace":               onCluster(func(c *fleet.Cluster) { c.Status.Namespace = "x" }),
		"deployed":                    onCluster(func(c *fleet.Cluster) { c.Status.AgentDeployedGeneration = nil }),
		"agentConfigChanged":          onCluster(func(c *fleet.Cluster) { c.Status.AgentConfigChanged = true }),
		"URL":                         onCluster(func(c *fleet.Cluster) { c.Status.APIServerURL = "x" }),
		"CA":                          onCluster(func(c *fleet.Cluster) { c.Status.APIServerCAHash = "x" }),
		"TLS mode":                    onCluster(func(c *fleet.Cluster) { c.Status.AgentTLSMode = "x" }),
		"interval":                    onCluster(func(c *fleet.Cluster) { c.Status.GarbageCollectionInterval = &metav1.Duration{Duration: time.Hour} }),
		"where the agent is":          onCluster(func(c *fleet.Cluster) { c.Status.Agent.Namespace = "x" }),
		"Registered":                  onCluster(is(fleet.ClusterConditionRegistered, metav1.ConditionFalse, "", now)),
		"AgentConnected":              onCluster(is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "", now)),
		"CredentialValid":             onCluster(is(fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, "", now)),
		"secret":                      with(func(f *facts) { f.secret.ResourceVersion = "8" }),
		"another secret of the name":  with(func(f *facts) { f.secret.UID = "uid-2" }),
		"no secret":                   with(func(f *facts) { f.secret = nil }),
		"import account":              with(func(f *facts) { f.accountLives = false }),
		"agent options":               with(func(f *facts) { f.config.AgentImage = "rancher/fleet-agent:v2" }),
		"configured URL":              with(func(f *facts) { f.config.APIServerURL = "https://x" }),
		"configured CA":               with(func(f *facts) { f.config.APIServerCA = []byte("x") }),
		"configured TLS mode":         with(func(f *facts) { f.config.AgentTLSMode = "x" }),
		"configured interval":         with(func(f *facts) { f.config.GarbageCollectionInterval.Duration = time.Hour }),
		"workspace of the local one":  with(func(f *facts) { f.config.Bootstrap.Namespace = "x" }),
		"local agent":                 with(func(f *facts) { f.config.Bootstrap.LocalAgentDisabled = true }),
	} {
		assert.NotEqual(t, want, fingerprint(f, "t"), name)
	}
	assert.NotEqual(t, want, fingerprint(base(), "t2"), "token")
	bad := base()
	bad.optionsError = errors.New("bad")
	assert.NotEqual(t, want, fingerprint(bad, "t"), "options that cannot be applied")
	assert.Equal(t, want, fingerprint(base(), "t"))
}

// A failed import writes Imported, a heartbeat a time: neither makes another try worth while before its time.
func TestTheFingerprintLeavesOutWhatTheImportItselfWritesAndAllTimes(t *testing.T) {
	want := fingerprint(factsOf(cluster(imported)), "t")
	for name, change := range map[string]func(*fleet.Cluster){
		"Imported":   is(fleet.ClusterConditionImported, metav1.ConditionFalse, "Unreachable", now),
		"a check-in": func(c *fleet.Cluster) { c.Status.Agent.LastSeen = metav1.NewTime(now) },
		"the time of a change": func(c *fleet.Cluster) {
			c.Status.Conditions[1].LastUpdateTime = "x"
			c.Status.Conditions[1].LastTransitionTime = "y"
		},
		"a reason":               func(c *fleet.Cluster) { c.Status.Conditions[1].Reason = "x" },
		"the resource version":   func(c *fleet.Cluster) { c.ResourceVersion = "99" },
		"another condition":      is(fleet.ClusterConditionReady, metav1.ConditionFalse, "", now),
		"a label":                func(c *fleet.Cluster) { c.Labels = map[string]string{"env": "prod"} },
		"the summary of bundles": func(c *fleet.Cluster) { c.Status.Summary.Ready = 3 },
	} {
		assert.Equal(t, want, fingerprint(factsOf(cluster(imported, change)), "t"), name)
	}
	later := factsOf(cluster(imported))
	later.now = now.Add(time.Hour)
	assert.Equal(t, want, fingerprint(later, "t"))
}

func TestNeighboursInTheFingerprintDoNotRunIntoEachOther(t *testing.T) {
	a := cluster(imported, func(c *fleet.Cluster) { c.Status.APIServerURL, c.Status.APIServerCAHash = "ab", "c" })
	b := cluster(imported, func(c *fleet.Cluster) { c.Status.APIServerURL, c.Status.APIServerCAHash = "a", "bc" })
	assert.NotEqual(t, fingerprint(factsOf(a), ""), fingerprint(factsOf(b), ""))
}

// The wire: SHA-224 of the JSON encoding. No CA is the hash of null, whether nil or empty.
func TestTheHashOfTheCAIsTheWires(t *testing.T) {
	assert.Equal(t, "a7408a8b23aff882d8b95165eb24c3a6b519468539eb2b3072f529cb", hashOf("null"))
	assert.Equal(t, hashOf("null"), caHash(nil))
	assert.Equal(t, hashOf("null"), caHash([]byte{}))
	assert.Equal(t, hashOf(`"Q0E="`), caHash([]byte("CA")))
}

func hashOf(text string) string {
	sum := sha256.Sum224([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestADigestTellsKubeconfigsApart(t *testing.T) {
	assert.Len(t, digest([]byte("a")), 16)
	assert.NotEqual(t, digest([]byte("a")), digest([]byte("b")))
	assert.Equal(t, registration.Digest("a"), digest([]byte("a")))
}
