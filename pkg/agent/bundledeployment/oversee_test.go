package bundledeployment

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"
	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func isModified(s fleet.BundleDeploymentStatus) bool { return !s.NonModified }

func correcting(bd *fleet.BundleDeployment) {
	bd.Spec.CorrectDrift = &fleet.CorrectDrift{Enabled: true}
}

func TestDriftIsReportedAndLeftAlone(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.monitor.find("app", modified())
	w.becomes("app", "is modified", isModified)
	status := w.get("app").Status
	assert.Equal(t, "False configmap.v1 default/x modified {}", conditionOf(status, "Ready"))
	assert.Equal(t, "Modified", status.Display.State)
	assert.Zero(t, w.deployer.corrected())
	w.monitor.find("app", drift.Result{Ready: true, NonModified: true})
	w.isDeployed("app")
}

// H05, H08: drift is corrected, and a second writer that does not give up makes the corrections rare.
func TestDriftIsCorrectedAndNotWithoutEnd(t *testing.T) {
	w := start(t, func(c *Config) { c.Pace.AmendFirst, c.Pace.AmendMax = time.Hour, time.Hour })
	w.put("app", correcting)
	w.isDeployed("app")
	w.monitor.find("app", modified())
	w.eventually("it is corrected", func() bool { return w.deployer.corrected() == 1 })
	w.becomes("app", "has the new revision", func(s fleet.BundleDeploymentStatus) bool { return s.Release == "default/app:2" })
	for range 20 {
		w.Drifted("app")
	}
	w.never("corrected again at once", func() bool { return w.deployer.corrected() > 1 })
	assert.Len(t, w.deployer.jobsOf("app"), 1)
}

func TestACorrectionThatFailsIsToldAndTriedAgain(t *testing.T) {
	w := start(t)
	w.put("app", correcting)
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = errors.New("field is immutable") })
	w.monitor.find("app", modified())
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool {
		return conditionOf(s, "Ready") == "False field is immutable"
	})
	w.eventually("it is tried again", func() bool { return w.deployer.corrected() > 2 })
	w.deployer.with(func() { delete(w.deployer.fails, "app") })
	w.eventually("it is corrected", func() bool { return w.get("app").Status.Release != "default/app:1" })
}

// A05: the agent's own bundle is put right whatever is configured, at a pace that a second writer cannot drive up.
func TestTheAgentsOwnBundleIsDeployedAgain(t *testing.T) {
	w := start(t, func(c *Config) { c.Pace.AmendFirst, c.Pace.AmendMax = 20*time.Millisecond, time.Hour })
	name := "fleet-agent-" + cluster
	w.put(name)
	w.isDeployed(name)
	assert.True(t, w.deployer.jobsOf(name)[0].Agent)
	w.monitor.find(name, modified())
	w.eventually("it is deployed again", func() bool { return len(w.deployer.jobsOf(name)) == 2 })
	began := time.Now()
	for time.Since(began) < aWhile {
		w.Drifted(name)
		w.eventually("it is looked at", func() bool { return w.monitor.looked(name) > 0 })
	}
	// After 20, 40, 80 ms: not at each of the many changes.
	assert.LessOrEqual(t, len(w.deployer.jobsOf(name)), 6)
	assert.Zero(t, w.deployer.corrected())
}

// The old agent put its template back, since the new pod could not take over.
func TestAnAgentThatWasTakenBackIsNotBroughtAgain(t *testing.T) {
	var takenBack atomic.Bool
	takenBack.Store(true)
	w := start(t, func(c *Config) { c.Pace.AmendFirst, c.TakenBack = time.Millisecond, takenBack.Load })
	name := "fleet-agent-" + cluster
	w.put(name)
	w.isDeployed(name)
	w.monitor.find(name, modified())
	w.eventually("it is looked at", func() bool { return w.monitor.looked(name) > 1 })
	w.becomes(name, "says so", func(s fleet.BundleDeploymentStatus) bool { return !s.NonModified })
	assert.Len(t, w.deployer.jobsOf(name), 1)

	takenBack.Store(false)
	w.Drifted(name)
	w.eventually("it is deployed again", func() bool { return len(w.deployer.jobsOf(name)) > 1 })
}

func TestRemedies(t *testing.T) {
	three := int64(3)
	missing := fleet.BundleDeploymentStatus{ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", Name: "x", Namespace: "default", Create: true}}}
	overwrites := func(bd *fleet.BundleDeployment) {
		bd.Spec.Options.Overwrites = []fleet.OverwrittenResource{{Kind: "ConfigMap", Name: "x", Namespace: "default"}}
	}
	forced := func(bd *fleet.BundleDeployment) { bd.Spec.Options.ForceSyncGeneration = 3 }
	for name, test := range map[string]struct {
		change       func(*fleet.BundleDeployment)
		status       fleet.BundleDeploymentStatus
		agent, fresh bool
		want         way
	}{
		"nothing is configured":            {want: leaveAlone},
		"correction":                       {change: correcting, want: correct},
		"correction is off":                {change: func(bd *fleet.BundleDeployment) { bd.Spec.CorrectDrift = &fleet.CorrectDrift{Force: true} }, want: leaveAlone},
		"the agent":                        {agent: true, want: deployAgain},
		"the agent, with correction":       {change: correcting, agent: true, want: deployAgain},
		"just deployed":                    {agent: true, fresh: true, want: leaveAlone},
		"a sync that was asked for":        {change: forced, want: deployAgain},
		"a sync that was done":             {change: forced, status: fleet.BundleDeploymentStatus{SyncGeneration: &three}, want: leaveAlone},
		"overwritten and missing":          {change: overwrites, status: missing, want: deployAgain},
		"overwritten, another one missing": {change: overwrites, status: fleet.BundleDeploymentStatus{ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", Name: "y", Create: true}}}, want: leaveAlone},
		"overwritten and changed":          {change: overwrites, status: fleet.BundleDeploymentStatus{ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", Name: "x", Namespace: "default"}}}, want: leaveAlone},
	} {
		t.Run(name, func(t *testing.T) {
			bd := &fleet.BundleDeployment{}
			if test.change != nil {
				test.change(bd)
			}
			assert.Equal(t, test.want, remedy(bd, test.status, test.agent, test.fresh))
		})
	}
}

// C04: a release that is not ready costs a look for each change, and nothing else.
func TestAReleaseThatIsNotReadyIsNotReadAgainAndAgain(t *testing.T) {
	w := newWorld(t)
	w.monitor.finds["app"] = drift.Result{NonModified: true, NonReadyStatus: []fleet.NonReadyStatus{{
		Kind: "Deployment", APIVersion: "apps/v1", Namespace: "default", Name: "x",
		Summary: summary.Summary{State: "updating", Transitioning: true, Message: []string{"waiting"}},
	}}}
	w.run()
	w.attach(token)
	w.put("app")
	w.becomes("app", "is not ready", func(s fleet.BundleDeploymentStatus) bool { return s.AppliedDeploymentID != "" && !s.Ready })
	var loads int
	w.deployer.with(func() { loads = w.deployer.loads })
	looks := w.monitor.looked("app")
	w.never("looked at", func() bool { return w.monitor.looked("app") > looks })
	w.deployer.with(func() { assert.Equal(t, loads, w.deployer.loads) })
	w.monitor.find("app", drift.Result{Ready: true, NonModified: true})
	w.isDeployed("app")
}

func TestObjectsThatCannotBeJudgedAreTold(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.monitor.fail("app", errors.New("no answer"))
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Monitored") == "False no answer" })
	assert.True(t, w.get("app").Status.Ready, "what was known stays")
	w.monitor.fail("app", nil)
	w.becomes("app", "is judged", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Monitored") == "True " })
}

func TestWhatNoWatchTellsOfIsLookedAtAgain(t *testing.T) {
	w := newWorld(t)
	w.monitor.finds["app"] = drift.Result{Ready: true, NonModified: true, Unwatched: true}
	w.run()
	w.attach(token)
	w.put("app")
	w.eventually("it is looked at again", func() bool { return w.monitor.looked("app") > 3 })
}

// C04: what changes on the cluster does not make a bundle that fails be tried more often.
func TestDriftCutsNoPauseShort(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Pace.RetryFirst, c.Pace.RetryMax = time.Hour, time.Hour })
	w.deployer.fails["app"] = errors.New("no")
	w.run()
	w.attach(token)
	w.put("app")
	w.eventually("it fails", func() bool { return w.memory.isFailing("app") })
	tries := len(w.deployer.jobsOf("app"))
	for range 20 {
		w.Drifted("app")
	}
	w.never("tried again", func() bool { return len(w.deployer.jobsOf("app")) > tries })
	w.edit("app", another)
	w.eventually("a change of the bundle is tried at once", func() bool { return len(w.deployer.jobsOf("app")) > tries })
}
