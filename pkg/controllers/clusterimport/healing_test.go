package clusterimport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

func TestHealingGoesSlowerAndSlower(t *testing.T) {
	var got []time.Duration
	for attempts := range 8 {
		got = append(got, healDelay(attempts))
	}
	m := time.Minute
	assert.Equal(t, []time.Duration{m, 2 * m, 4 * m, 8 * m, 16 * m, 30 * m, 30 * m, 30 * m}, got)
	assert.Equal(t, 30*m, healDelay(1<<40))
}

// A healthy hub puts an agent there again without a human: it is gone, refused, silent, or has never come.
func TestHealing(t *testing.T) {
	ago := func(d time.Duration, attempts int) func(*fleet.Cluster) {
		return recorded(lastImport(cluster(), func(r *registration.Import) { r.Time, r.Attempts = now.Add(-d), attempts }))
	}
	// The agent was connected before the last import, or never.
	before := now.Add(-24 * time.Hour)
	silent := is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", before)
	lost := is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now.Add(-time.Second))
	invalid := is(fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, "AccountReplaced", now)
	unregistered := func(c *fleet.Cluster) {
		is(fleet.ClusterConditionRegistered, metav1.ConditionFalse, "WaitingForAgent", before)(c)
		is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "WaitingForAgent", before)(c)
	}
	asImported := func(change func(*fleet.Cluster)) func(*fleet.Cluster) {
		return func(c *fleet.Cluster) { c.Status.Conditions = nil; imported(c); change(c) }
	}
	dead := func(f *facts) { f.accountLives = false }
	// The hub is in touch with its API server again for so long.
	back := func(d time.Duration) func(*facts) {
		return func(f *facts) { f.touch = kube.Touch{Since: now.Add(-d)} }
	}
	away := func(f *facts) { f.touch = kube.Touch{Since: now.Add(-time.Hour), Lost: true} }
	newImage := func(f *facts) { f.config.AgentImage = "rancher/fleet-agent:v2" }
	for name, test := range map[string]struct {
		cluster  *fleet.Cluster
		more     func(*facts)
		installs bool
		says     string
		again    time.Duration
		attempts int
	}{
		"silent, first time":           {cluster(asImported(silent), ago(time.Hour, 0)), nil, true, "silent", 0, 1},
		"silent, just put there":       {cluster(asImported(silent), ago(20*time.Second, 0)), nil, false, "", 40 * time.Second, 0},
		"silent, the third time":       {cluster(asImported(silent), ago(3*time.Minute, 2)), nil, false, "", time.Minute, 0},
		"silent, the third time, due":  {cluster(asImported(silent), ago(4*time.Minute, 2)), nil, true, "silent", 0, 3},
		"silent for ever":              {cluster(asImported(silent), ago(29*time.Minute, 50)), nil, false, "", time.Minute, 0},
		"lost, for the first time":     {cluster(asImported(lost), ago(10*time.Second, 0)), nil, true, "silent", 0, 1},
		"lost long after the last one": {cluster(asImported(lost), ago(time.Hour, 4)), nil, true, "silent", 0, 1},
		// R03: two that take an agent from each other must not do so at full speed.
		"lost again soon after the last one":    {cluster(asImported(lost), ago(10*time.Second, 4)), nil, false, "", 16*time.Minute - 10*time.Second, 0},
		"silent, and not what is wanted (R24)":  {cluster(asImported(silent), ago(time.Second, 3)), newImage, true, "silent", 0, 4},
		"refused: the account died (R01)":       {cluster(asImported(invalid), ago(time.Hour, 0)), nil, true, "credential", 0, 1},
		"refused, just put there":               {cluster(asImported(invalid), ago(time.Second, 0)), nil, false, "", 59 * time.Second, 0},
		"not registered, token lives":           {cluster(asImported(unregistered), ago(2*time.Minute, 0)), nil, false, "", 8 * time.Minute, 0},
		"not registered, out of patience":       {cluster(asImported(unregistered), ago(10*time.Minute, 0)), nil, true, "not registered", 0, 1},
		"not registered, the token ended (R02)": {cluster(asImported(unregistered), ago(2*time.Minute, 0)), dead, true, "import account ended", 0, 1},
		"not registered, token ended at once":   {cluster(asImported(unregistered), ago(time.Second, 0)), dead, true, "import account ended", 0, 1},
		"not registered, token ended once more": {cluster(asImported(unregistered), ago(30*time.Second, 1)), dead, false, "", 90 * time.Second, 0},
		"well, the token ended long ago":        {cluster(imported), dead, false, "", 0, 0},
		"not registered, the hub was away":      {cluster(asImported(unregistered), ago(time.Hour, 0)), back(30 * time.Second), false, "", 90 * time.Second, 0},
		"not registered, the hub was away once": {cluster(asImported(unregistered), ago(time.Hour, 0)), back(2 * time.Minute), true, "not registered", 0, 1},
		"not registered, the hub is away":       {cluster(asImported(unregistered), ago(time.Hour, 0)), away, false, "", 2 * time.Minute, 0},
		"silent, the hub was away":              {cluster(asImported(silent), ago(time.Hour, 0)), back(20 * time.Second), false, "", 40 * time.Second, 0},
		"silent, the hub was away once":         {cluster(asImported(silent), ago(time.Hour, 2)), back(2 * time.Minute), true, "silent", 0, 3},
		"lost, the hub was away before":         {cluster(asImported(lost), ago(time.Hour, 0)), back(time.Second), true, "silent", 0, 1},
		"well, another image":                   {cluster(imported), newImage, false, "", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*facts)
			if test.more != nil {
				changes = append(changes, test.more)
			}
			p := decide(factsOf(test.cluster, changes...))
			if !test.installs {
				assert.Equal(t, nothing, p.action, p.reason)
				assert.Equal(t, test.again, p.again)
				return
			}
			assert.Equal(t, install, p.action)
			assert.Contains(t, p.reason, test.says)
			assert.True(t, p.fresh, "each has an account of its own")
			assert.Equal(t, test.attempts, p.attempts)
		})
	}
}

func TestUnhealthyIsOnlyWhatIsKnown(t *testing.T) {
	assert.False(t, unhealthy(cluster()))
	assert.False(t, unhealthy(cluster(imported)))
	assert.True(t, unhealthy(cluster(imported, is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now))))
	assert.True(t, unhealthy(cluster(imported, is(fleet.ClusterConditionCredentialValid, metav1.ConditionFalse, "Expired", now))))
}

func TestHowLongAHealingHeldRestsOnTheTimeOfTheLastChange(t *testing.T) {
	c := cluster(is(fleet.ClusterConditionAgentConnected, metav1.ConditionFalse, "Silent", now))
	held, ok := heldFor(c.Status.Conditions, now.Add(-time.Minute))
	assert.True(t, ok)
	assert.Equal(t, time.Minute, held)
	_, ok = heldFor(c.Status.Conditions, now)
	assert.False(t, ok)
	_, ok = heldFor(nil, now)
	assert.False(t, ok)
	c.Status.Conditions[0].LastTransitionTime = "yesterday"
	_, ok = heldFor(c.Status.Conditions, now.Add(-time.Hour))
	assert.False(t, ok)
}
