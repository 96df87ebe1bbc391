package bundledeployment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/summary"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/fleet/pkg/agent/drift"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

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

// A revision that has no objects left is still the bundle's: what the one before had and it has not is known by its label.
func TestTheLabelOfARevisionWithoutObjectsIsThatOfTheOneBefore(t *testing.T) {
	object := func(hash string) []*unstructured.Unstructured {
		made := &unstructured.Unstructured{}
		made.SetLabels(map[string]string{drift.HashLabel: hash})
		return []*unstructured.Unstructured{{}, made}
	}
	assert.Equal(t, "a", hashOf(object("a"), object("b")))
	assert.Equal(t, "b", hashOf(nil, object("b")))
	assert.Empty(t, hashOf(nil, nil))
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

func TestARecordThatCannotBeReadIsToldAndHoldsNoNewVersionUp(t *testing.T) {
	w := newWorld(t)
	w.run()
	stop := w.attach(token)
	w.put("app")
	w.isDeployed("app")
	stop()

	w.deployer.mu.Lock()
	w.deployer.unreadable = errors.New("the record is damaged")
	w.deployer.mu.Unlock()
	w.attach(token)
	w.becomes("app", "says so", func(s fleet.BundleDeploymentStatus) bool {
		return strings.Contains(conditionOf(s, fleet.BundleDeploymentConditionDeployed), "the record is damaged")
	})
	w.edit("app", another)
	w.eventually("the next version is deployed", func() bool { return len(w.deployer.jobsOf("app")) == 2 })
}
