package bundledeployment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// thatWait makes bundles whose calls only wait.
func (w *world) thatWait(number int, change ...func(*fleet.BundleDeployment)) (names []string) {
	for i := range number {
		names = append(names, fmt.Sprintf("waits-%d", i))
	}
	w.deployer.with(func() {
		for _, name := range names {
			w.deployer.waits[name] = true
		}
	})
	for _, name := range names {
		w.put(name, change...)
	}
	return names
}

func (w *world) begun(names []string) (number int) {
	for _, name := range names {
		number += len(w.deployer.jobsOf(name))
	}
	return number
}

func (w *world) lentNow() int {
	w.lent.mu.Lock()
	defer w.lent.mu.Unlock()
	return w.lent.now
}

func withTimeout(bd *fleet.BundleDeployment) {
	bd.Spec.Options.Helm = &fleet.HelmOptions{TimeoutSeconds: 3600}
}

// Bundles that wait for their objects or hooks, however many, hold up no other: neither its deployment nor its removal.
func TestBundlesThatOnlyWaitHoldUpNobody(t *testing.T) {
	w := start(t, func(c *Config) { c.Workers, c.Pace.Stuck = 2, time.Hour })
	w.put("leaves")
	w.isDeployed("leaves")
	names := w.thatWait(3 * 2)
	w.eventually("all have begun", func() bool { return w.begun(names) == len(names) })

	w.put("quick")
	w.isDeployed("quick")
	w.hub.Remove(deployments, clusterNamespace, "leaves")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })

	w.deployer.release()
	for _, name := range names {
		w.isDeployed(name)
	}
	w.eventually("all workers are given back", func() bool { return w.lentNow() == 0 })
	assert.Equal(t, len(names), w.begun(names))
}

// How many wait at once is bounded: what they keep in memory is. The rest is begun when one of them has ended.
func TestOfVeryManyThatWaitSomeTakeTurns(t *testing.T) {
	w := start(t, func(c *Config) { c.Workers, c.Pace.Stuck = 1, time.Hour })
	names := w.thatWait(lentTo+2, withTimeout)
	waits := func() (number int) {
		for _, name := range names {
			if strings.Contains(conditionOf(w.get(name).Status, "Deployed"), "waits for its turn: 4 bundles wait") {
				number++
			}
		}
		return number
	}
	w.eventually("the others say so", func() bool { return waits() == 2 })
	assert.Equal(t, lentTo, w.begun(names))
	w.put("quick")
	w.isDeployed("quick")
	w.never("begun", func() bool { return w.begun(names) > lentTo })

	w.deployer.release()
	for _, name := range names {
		w.isDeployed(name)
		assert.Equal(t, "True ", conditionOf(w.get(name).Status, "Deployed"))
	}
}

// The agent's own bundle waits for nobody.
func TestTheAgentsOwnBundleTakesNoTurns(t *testing.T) {
	w := start(t, func(c *Config) { c.Workers, c.Pace.Stuck = 1, time.Hour })
	w.thatWait(lentTo, withTimeout)
	w.eventually("as many wait as may", func() bool { return w.lentNow() == lentTo })
	w.put("fleet-agent-"+cluster, withTimeout)
	w.isDeployed("fleet-agent-" + cluster)
}

func TestACallThatIsGivenUpWaitingForLendsNoWorker(t *testing.T) {
	w := start(t)
	names := w.thatWait(1)
	w.becomes(names[0], "says so", func(s fleet.BundleDeploymentStatus) bool { return conditionOf(s, "Deployed") != "" })
	assert.Zero(t, w.lentNow())
	w.deployer.release()
	w.isDeployed(names[0])
}
