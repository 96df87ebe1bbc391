package bundledeployment

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// said is what the agent says of the bundles now.
func (w *world) said() *fleet.AgentBundles { return w.Bundles(w.t.Context()) }

// talking counts how often the agent has something to say at once.
func talking(told *atomic.Int32) func(*Config) {
	return func(c *Config) { c.Told = func() { told.Add(1) } }
}

func TestTheAgentSaysWhatBundlesItHasToDoWith(t *testing.T) {
	w := newWorld(t)
	assert.Nil(t, w.said(), "there is no session")
	w.run()
	w.attach(token)
	w.eventually("it knows", func() bool { return w.said() != nil })
	assert.Equal(t, &fleet.AgentBundles{}, w.said())

	for _, name := range []string{"app", "db", "fleet-agent-" + cluster} {
		w.put(name)
		w.isDeployed(name)
	}
	assert.Equal(t, &fleet.AgentBundles{Count: 2}, w.said(), "all but its own")
	w.put("paused", func(bd *fleet.BundleDeployment) { bd.Spec.Paused = true })
	w.eventually("it is known", func() bool { return w.said().Count == 3 })

	w.deployer.with(func() { w.deployer.fails["db"] = errors.New("no") })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.hub.Remove(deployments, clusterNamespace, "db")
	w.hub.Remove(deployments, clusterNamespace, "paused")
	w.eventually("one is left", func() bool {
		return assert.ObjectsAreEqual(&fleet.AgentBundles{Count: 1, Removing: []string{"db"}}, w.said())
	})
	w.deployer.with(func() { delete(w.deployer.fails, "db") })
	w.eventually("none is left", func() bool { return assert.ObjectsAreEqual(&fleet.AgentBundles{}, w.said()) })
}

// Of a release that an earlier process left behind only the cluster tells.
func TestThatNothingIsLeftIsSaidWhenTheClusterSaysSo(t *testing.T) {
	w := newWorld(t)
	w.deployer.revisions["orphan"] = 1
	w.deployer.revisions["other-hubs"], w.deployer.origins["other-hubs"] = 1, "uid-of-another-place"
	w.deployer.revisions["renamed"], w.deployer.agents["renamed"] = 1, true
	w.run()
	w.attach(token)
	w.eventually("it knows", func() bool { return w.said() != nil })
	assert.Equal(t, &fleet.AgentBundles{Count: 1, Removing: []string{"orphan"}}, w.said(), "neither its own nor another hub's")

	w.refuse("get", "/namespaces", http.StatusServiceUnavailable)
	assert.Nil(t, w.said(), "in doubt it says nothing")
	w.refuse("get", "/namespaces", 0)
	w.Look("orphan")
	w.eventually("none is left", func() bool { return w.said() != nil && w.said().Count == 0 })
}

// A report more or less is a write to the hub for each of thousands of agents.
func TestWhatIsRemovedIsToldAtOnceOnlyWhereTheHubHasNothingElse(t *testing.T) {
	var told atomic.Int32
	w := start(t, talking(&told))
	w.put("app")
	w.put("db")
	w.isDeployed("app")
	w.isDeployed("db")
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
	w.never("told", func() bool { return told.Load() > 0 })

	w.hub.Remove(deployments, clusterNamespace, "db")
	w.eventually("told that it begins, and that it is over", func() bool { return told.Load() == 2 })
	assert.Equal(t, &fleet.AgentBundles{}, w.said())

	w.put("app")
	w.isDeployed("app")
	w.never("told of what comes", func() bool { return told.Load() > 2 })
}

// One that cannot be removed must not make a report with every try.
func TestARemovalThatFailsIsToldOnce(t *testing.T) {
	var told atomic.Int32
	w := start(t, talking(&told))
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = errors.New("no") })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("told", func() bool { return told.Load() > 0 })
	assert.Equal(t, &fleet.AgentBundles{Count: 1, Removing: []string{"app"}}, w.said())
	before := told.Load()
	w.never("told again", func() bool { return told.Load() > before })
}

// What stays since nobody knows whose it is, is left all the same.
func TestWhatIsNotProvenIsStillSaidToBeLeft(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = helmdeployer.ErrUnproven })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is given up", func() bool {
		w.memory.mu.Lock()
		defer w.memory.mu.Unlock()
		return w.memory.notes["app"] == nil
	})
	assert.Equal(t, &fleet.AgentBundles{Count: 1, Removing: []string{"app"}}, w.said())
}
