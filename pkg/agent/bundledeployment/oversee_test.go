package bundledeployment

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
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

// A record that somebody else wrote is not applied: the bundle is. Whose release it is comes from the hub alone.
func TestAForeignRecordHasTheBundleDeployedAgain(t *testing.T) {
	w := start(t)
	w.deployer.with(func() { w.deployer.foreign["app"] = true })
	w.put("app", correcting, func(bd *fleet.BundleDeployment) {
		bd.Spec.Options.ServiceAccount, bd.Spec.Options.TargetNamespace = "tenant", "apps"
	})
	w.isDeployed("app")
	w.deployer.with(func() {
		w.deployer.applied = func(name string) { w.monitor.quietly(name, drift.Result{Ready: true, NonModified: true}) }
	})
	w.monitor.find("app", modified())
	w.becomes("app", "is deployed again", func(s fleet.BundleDeploymentStatus) bool { return s.Release == idOf("app", 2) && s.NonModified })
	w.deployer.with(func() {
		assert.Equal(t, []helmdeployer.Owner{{
			BundleID: "app", Namespace: "apps", Name: "app", Target: "apps", ServiceAccount: "tenant",
		}}, w.deployer.owners)
	})
}

// A change in the moment after a correction or a deployment, of which no watch tells any more, is put right too, and so is
// the one after that. The first look afterwards finds it; whoever only waits for news would never look again.
func TestAChangeRightAfterOurOwnIsPutRight(t *testing.T) {
	agent := "fleet-agent-" + cluster
	for name, test := range map[string]struct {
		bundle string
		change func(*fleet.BundleDeployment)
	}{
		"corrected":      {"app", correcting},
		"deployed again": {agent, func(*fleet.BundleDeployment) {}},
	} {
		t.Run(name, func(t *testing.T) {
			const disturbed = 5
			w := newWorld(t)
			times := 0
			w.deployer.applied = func(name string) { // with the deployer's lock
				if times++; times <= disturbed {
					w.monitor.quietly(name, modified())
					return
				}
				w.monitor.quietly(name, drift.Result{Ready: true, NonModified: true})
			}
			w.run()
			w.attach(token)
			w.put(test.bundle, test.change)
			w.becomes(test.bundle, "is as it should be", func(s fleet.BundleDeploymentStatus) bool { return s.NonModified && s.Release != "" })
			w.deployer.with(func() { assert.Equal(t, disturbed+1, times) })
		})
	}
}

// What does not become right is tried more and more rarely.
func TestWhatNoCorrectionPutsRightIsTriedMoreAndMoreRarely(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Pace.AmendFirst, c.Pace.AmendMax = 10*time.Millisecond, time.Hour })
	w.monitor.finds["app"] = modified()
	w.run()
	w.attach(token)
	w.put("app", correcting)
	w.eventually("it is tried again", func() bool { return w.deployer.corrected() > 2 })
	w.never("tried often", func() bool { return w.deployer.corrected() > 7 }) // after 10, 20, 40, 80, 160 ms
}

// A release that a person took away with Helm is deployed again, although nothing is asked to be corrected. Whether the
// record is there is asked only while objects are missing.
func TestAReleaseThatSomebodyUninstalledIsDeployedAgain(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.monitor.find("app", modified())
	w.becomes("app", "is modified", isModified)
	w.deployer.with(func() { assert.Zero(t, w.deployer.asked) })
	missing := drift.Result{Ready: true, ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", APIVersion: "v1", Namespace: "default", Name: "x", Create: true}}}
	w.monitor.find("app", missing)
	w.eventually("it is asked", func() (asked bool) {
		w.deployer.with(func() { asked = w.deployer.asked > 0 })
		return asked
	})
	assert.Len(t, w.deployer.jobsOf("app"), 1)
	w.deployer.with(func() {
		w.deployer.unrecorded[idOf("app", 1)] = true
		w.deployer.applied = func(name string) { w.monitor.quietly(name, drift.Result{Ready: true, NonModified: true}) }
	})
	w.Drifted("app")
	w.becomes("app", "is deployed again", func(s fleet.BundleDeploymentStatus) bool { return s.Release == idOf("app", 2) && s.NonModified })
}

// C04: a revision before this one that is gone is asked for once, not with each look.
func TestARevisionThatIsGoneIsAskedForOnce(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.edit("app", another)
	w.isDeployed("app")
	for looks := w.monitor.looked("app"); w.monitor.looked("app") < looks+3; {
		seen := w.monitor.looked("app")
		w.Drifted("app")
		w.eventually("it is looked at", func() bool { return w.monitor.looked("app") > seen })
	}
	w.deployer.with(func() { assert.Equal(t, []string{idOf("app", 1)}, w.deployer.missed) })
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

func TestRemedies(t *testing.T) {
	three := int64(3)
	missing := fleet.BundleDeploymentStatus{ModifiedStatus: []fleet.ModifiedStatus{{Kind: "ConfigMap", Name: "x", Namespace: "default", Create: true}}}
	overwrites := func(bd *fleet.BundleDeployment) {
		bd.Spec.Options.Overwrites = []fleet.OverwrittenResource{{Kind: "ConfigMap", Name: "x", Namespace: "default"}}
	}
	forced := func(bd *fleet.BundleDeployment) { bd.Spec.Options.ForceSyncGeneration = 3 }
	for name, test := range map[string]struct {
		change      func(*fleet.BundleDeployment)
		status      fleet.BundleDeploymentStatus
		agent, gone bool
		want        way
	}{
		"nothing is configured":            {want: leaveAlone},
		"correction":                       {change: correcting, want: correct},
		"correction is off":                {change: func(bd *fleet.BundleDeployment) { bd.Spec.CorrectDrift = &fleet.CorrectDrift{Force: true} }, want: leaveAlone},
		"the agent":                        {agent: true, want: deployAgain},
		"the agent, with correction":       {change: correcting, agent: true, want: deployAgain},
		"the record is gone":               {gone: true, want: deployAgain},
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
			assert.Equal(t, test.want, remedy(bd, test.status, test.agent, !test.gone))
		})
	}
}
