package bundledeployment

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// The old agent put its template back, since the new pod could not take over.
func TestAnAgentThatWasTakenBackIsNotBroughtAgain(t *testing.T) {
	var takenBack atomic.Bool
	takenBack.Store(true)
	brings := func(objects []*unstructured.Unstructured) bool {
		return len(objects) == 1 && objects[0].GetName() == "fleet-agent"
	}
	told := make(chan bool, 100)
	w := start(t, func(c *Config) {
		c.Pace.AmendFirst = time.Millisecond
		c.Wanted = func(objects []*unstructured.Unstructured) {
			select {
			case told <- brings(objects):
			default:
			}
		}
		c.TakenBack = func(objects []*unstructured.Unstructured) bool { return brings(objects) && takenBack.Load() }
	})
	name := "fleet-agent-" + cluster
	w.deployer.with(func() {
		w.deployer.objects[name] = []*unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"name": "fleet-agent"}}}}
	})
	w.put("app")
	w.isDeployed("app")
	assert.Empty(t, told, "it is no bundle of an agent")
	w.put(name)
	w.isDeployed(name)
	w.monitor.find(name, modified())
	w.eventually("it is looked at", func() bool { return w.monitor.looked(name) > 1 })
	w.becomes(name, "says so", func(s fleet.BundleDeploymentStatus) bool { return !s.NonModified })
	assert.Len(t, w.deployer.jobsOf(name), 1)
	assert.True(t, <-told)

	takenBack.Store(false)
	w.Drifted(name)
	w.eventually("it is deployed again", func() bool { return len(w.deployer.jobsOf(name)) > 1 })
}
