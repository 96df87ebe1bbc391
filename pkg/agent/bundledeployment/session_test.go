package bundledeployment

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// X06: a change at the moment in which the connection is cut is not lost.
func TestChangesWhileTheConnectionIsCutAreNotLost(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	for i := range 30 {
		w.edit("app", func(bd *fleet.BundleDeployment) { bd.Spec.DeploymentID = fmt.Sprintf("%s:%d", w.manifest.ID(), i) })
		w.hub.CutConnections()
		if i%10 == 9 {
			w.isDeployed("app")
		}
	}
	w.isDeployed("app")
	uninstalled, forgotten := w.deployer.gone()
	assert.Empty(t, append(uninstalled, forgotten...))
}

func TestAllAreComparedAfterAnInterruption(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	looks := w.monitor.looked("app")
	w.hub.CutConnections()
	w.eventually("it is compared", func() bool { return w.monitor.looked("app") > looks })
}

// A call of Helm outlives the credential: the next one reports.
func TestADeploymentOutlivesTheSession(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Pace.Stuck = time.Hour })
	w.deployer.hangs["app"] = true
	w.run()
	end := w.attach("old")
	w.put("app")
	w.eventually("it is being deployed", func() bool { return len(w.deployer.jobsOf("app")) == 1 })
	w.hub.Guard("old", func(c apitest.Call) int {
		if c.Token == "old" {
			return http.StatusUnauthorized
		}
		return 0
	})
	end()
	w.attach("new")
	w.deployer.release()
	w.isDeployed("app")
	for _, patch := range w.patches() {
		if patch.Token == "new" {
			assert.Equal(t, "Ready", statusOf(t, patch)["display"].(map[string]any)["state"])
		}
	}
	assert.Len(t, w.deployer.jobsOf("app"), 1)
}

func TestARefusedCredentialIsTold(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.hub.Guard("refused", func(apitest.Call) int { return http.StatusUnauthorized })
	w.attach(token)
	select {
	case <-w.refused:
	case <-time.After(soon):
		t.Fatal("nobody was told")
	}
}

// X07: what is not fully known is not acted on.
func TestAHubWithSlowListsRemovesNothing(t *testing.T) {
	w := newWorld(t)
	w.deployer.revisions["app"] = 1
	w.run()
	w.refuse("list", deployments, unreachable)
	w.refuse("watch", deployments, unreachable)
	w.attach(token)
	w.Look("app")
	_, ok := w.Unknown(nil)
	assert.False(t, ok)
	w.never("removed", func() bool { return len(w.removed()) > 0 })
}

func TestAStatusThatCannotBeWrittenIsWrittenLater(t *testing.T) {
	w := newWorld(t)
	w.run()
	w.attach(token)
	w.refuse("patch", deployments, unreachable)
	w.put("app")
	w.eventually("it is tried again", func() bool { return len(w.patches()) > 3 })
	w.refuse("patch", deployments, 0)
	w.isDeployed("app")
	assert.Len(t, w.deployer.jobsOf("app"), 1, "what was done is not done again because the hub did not hear of it")
}

// What was just written counts, whether the watch has shown it or not.
func TestAWatchThatIsBehindLosesNoChange(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.eventually("the watch has shown it", func() bool { return w.session().get("app").Status.Ready })
	before := w.session().get("app")
	stale := before.DeepCopy()
	now := stale.DeepCopy()
	now.ResourceVersion = "1000000"
	now.Status.Ready = false
	w.memory.wrote(now)
	assert.False(t, w.memory.alive(stale).Ready, "the answer to the write counts")
	assert.False(t, w.memory.isNews(stale, stale), "an older event is no news")
	now.ResourceVersion = "1000001"
	assert.False(t, w.memory.isNews(stale, now), "nor is the echo")
	assert.True(t, w.memory.isNews(stale, now), "what another has written is")
}

// A status that somebody else writes is put right.
func TestAStatusThatIsOverwrittenIsPutRight(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	bd := w.get("app")
	bd.Status.Ready, bd.Status.Resources = false, []fleet.BundleDeploymentResource{{Kind: "Strange"}}
	w.hub.Put(deployments, bd)
	w.becomes("app", "is right", func(s fleet.BundleDeploymentStatus) bool { return s.Ready && len(s.Resources) == 0 })
	assert.Len(t, w.deployer.jobsOf("app"), 1)
}

// What the hub shows about a BundleDeployment is no reason to look at it.
func TestWhatTheHubShowsIsLeftAlone(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.eventually("the watch has shown it", func() bool { return w.session().get("app").Status.Ready })
	looks, writes := w.monitor.looked("app"), len(w.patches())
	bd := w.get("app")
	bd.Status.Display.State = "Whatever"
	w.hub.Put(deployments, bd)
	w.never("looked at", func() bool { return w.monitor.looked("app") > looks || len(w.patches()) > writes })
}

// A call that does not end costs its own bundle only.
func TestACallThatHangsIsGivenUpWaitingFor(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Workers = 1 })
	w.deployer.hangs["stuck"] = true
	w.run()
	w.attach(token)
	w.put("stuck")
	w.eventually("it hangs", func() bool { return len(w.deployer.jobsOf("stuck")) == 1 })
	w.put("app")
	w.isDeployed("app")
	w.becomes("stuck", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Contains(t, conditionOf(w.get("stuck").Status, "Deployed"), "a call of Helm that began at ")
	w.never("called twice at once", func() bool { return len(w.deployer.jobsOf("stuck")) > 1 })
	w.deployer.with(func() { delete(w.deployer.hangs, "stuck") })
	w.deployer.release()
	w.isDeployed("stuck")
}

// A18: what is under way when the agent is to end gets a moment, and the hub hears of it.
func TestWhatEndsWithTheAgentIsStillReported(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Pace.Stuck, c.Pace.Drain = time.Hour, soon })
	w.deployer.hangs["app"] = true
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.attach(token)
	w.put("app")
	w.eventually("it is being deployed", func() bool { return len(w.deployer.jobsOf("app")) == 1 })
	cancel()
	w.deployer.release()
	<-done
	assert.Equal(t, "default/app:1", w.get("app").Status.Release)
}
