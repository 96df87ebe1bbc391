package bundledeployment

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

func (w *world) removed() []string {
	uninstalled, _ := w.deployer.gone()
	return uninstalled
}

func TestWhatTheHubNoLongerHasIsUninstalled(t *testing.T) {
	w := start(t)
	w.put("app")
	w.put("other")
	w.isDeployed("app")
	w.isDeployed("other")
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
	assert.Equal(t, []string{"app"}, w.removed())
	assert.True(t, w.monitor.isForgotten("app"))
	asked := w.hub.Calls(func(c apitest.Call) bool { return c.On("get", deployments) && c.Name == "app" })
	assert.GreaterOrEqual(t, len(asked), 2, "the hub is asked twice")
}

// E10, X07, B20: an answer that does not say for certain that the object is gone removes nothing. When the hub is as it
// was, what is gone goes.
func TestNothingIsRemovedOnDoubt(t *testing.T) {
	served := func(w *world, verbs ...string) {
		w.hub.Serve(fleet.SchemeGroupVersion.String(), metav1.APIResource{Name: fleet.BundleDeploymentResourceName, Verbs: verbs})
	}
	now := metav1.Now()
	for name, doubt := range map[string]struct{ begin, end func(w *world) }{
		"401": {
			func(w *world) { w.refuse("get", deployments, http.StatusUnauthorized) }, func(w *world) { w.refuse("get", deployments, 0) },
		},
		"403": {
			func(w *world) { w.refuse("get", deployments, http.StatusForbidden) }, func(w *world) { w.refuse("get", deployments, 0) },
		},
		"404 of a proxy": {
			func(w *world) { w.refuse("get", deployments, -http.StatusNotFound) }, func(w *world) { w.refuse("get", deployments, 0) },
		},
		"503": {
			func(w *world) { w.refuse("get", deployments, unreachable) }, func(w *world) { w.refuse("get", deployments, 0) },
		},
		"no answer": {
			func(w *world) { w.refuse("get", deployments, apitest.Drop) }, func(w *world) { w.refuse("get", deployments, 0) },
		},
		"the kind is not served": {
			func(w *world) { w.hub.Serve(fleet.SchemeGroupVersion.String()) }, func(w *world) { served(w, "get", "create") },
		},
		"the kind is being deleted": {
			func(w *world) { served(w, "delete", "get", "list", "watch") }, func(w *world) { served(w, "get", "create") },
		},
		"the namespace is gone": {
			func(w *world) { w.hub.Remove("/namespaces", "", clusterNamespace) },
			func(w *world) {
				w.hub.Put("/namespaces", placeOf("uid-of-place"))
			},
		},
		"the namespace is being deleted": {
			func(w *world) {
				w.hub.Put("/namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusterNamespace, DeletionTimestamp: &now}})
			},
			func(w *world) {
				w.hub.Put("/namespaces", placeOf("uid-of-place"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.put("app")
			w.isDeployed("app")
			doubt.begin(w)
			w.hub.Remove(deployments, clusterNamespace, "app")
			w.eventually("the hub is asked", func() bool { return w.reads(deployments)+w.reads("/namespaces") > 3 })
			w.never("removed", func() bool { return len(w.removed()) > 0 })
			doubt.end(w)
			w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
		})
	}
}

func placeOf(uid types.UID) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusterNamespace, UID: uid}}
}

// A hub that was replaced by one of the same names, and a cluster that moves to another hub or becomes another Cluster, find
// nothing of what is deployed among what they want. That is no wish to remove it.
func TestAnotherHubRemovesNothingThatItDidNotBring(t *testing.T) {
	w := start(t)
	for _, name := range []string{"stays", "adopted"} {
		w.put(name)
		w.isDeployed(name)
	}
	w.hub.Remove("/namespaces", "", clusterNamespace)
	w.hub.Put("/namespaces", placeOf("uid-of-another-life"))
	w.hub.Remove(deployments, clusterNamespace, "stays")
	w.hub.Remove(deployments, clusterNamespace, "adopted")
	w.eventually("the hub is asked", func() bool { return w.reads("/namespaces") > 2 })
	w.never("removed", func() bool { return len(w.removed()) > 0 })
	w.Look("stays")
	w.never("removed", func() bool { return len(w.removed()) > 0 })

	w.put("adopted")
	w.isDeployed("adopted")
	w.hub.Remove(deployments, clusterNamespace, "adopted")
	w.eventually("what the other hub took over goes with it", func() bool { return len(w.removed()) == 1 })
	assert.Equal(t, []string{"adopted"}, w.removed())
}

// A hub of the reference lets its agents read no namespace.
func TestANamespaceThatMayNotBeReadIsNoDoubt(t *testing.T) {
	w := start(t)
	w.refuse("get", "/namespaces", http.StatusForbidden)
	w.put("app")
	w.isDeployed("app")
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}

func TestOneThatComesBackIsNotRemoved(t *testing.T) {
	w := start(t, func(c *Config) { c.Pace.SecondLook = 50 * time.Millisecond })
	w.put("app")
	w.isDeployed("app")
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("the hub is asked", func() bool { return w.reads(deployments) > 0 })
	w.put("app")
	w.isDeployed("app")
	w.never("removed", func() bool { return len(w.removed()) > 0 })
}

// What is deployed without anybody knowing it is looked at when somebody asks for it.
func TestAnOrphanIsRemovedOnDemand(t *testing.T) {
	w := newWorld(t)
	w.deployer.revisions["orphan"] = 1
	w.run()
	w.Look("orphan")
	w.attach(token)
	w.never("removed", func() bool { return len(w.removed()) > 0 })
	w.eventually("the hub is known", func() bool { _, ok := w.Unknown(nil); return ok })
	unknown, _ := w.Unknown([]string{"orphan"})
	assert.Equal(t, []string{"orphan"}, unknown)
	w.Look("orphan")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}

// A08: the agent does not remove itself, under whatever name its Cluster was.
func TestTheAgentAndWhatIsToBeKeptAreOnlyForgotten(t *testing.T) {
	w := newWorld(t)
	w.deployer.keeps["kept"], w.deployer.agents["fleet-agent-renamed"] = true, true
	w.run()
	w.attach(token)
	for _, name := range []string{"fleet-agent-" + cluster, "fleet-agent-renamed", "kept"} {
		w.put(name)
		w.isDeployed(name)
		w.hub.Remove(deployments, clusterNamespace, name)
		w.eventually(name+" is forgotten", func() bool {
			_, forgotten := w.deployer.gone()
			return len(forgotten) > 0 && forgotten[len(forgotten)-1] == name
		})
	}
	assert.Empty(t, w.removed())
}

// What cannot be told from somebody else's work stays, and is not asked for again and again.
func TestAReleaseThatIsNotProvenIsLeftAlone(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = fmt.Errorf("release: %w", helmdeployer.ErrUnproven) })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("it is given up", func() bool {
		w.memory.mu.Lock()
		defer w.memory.mu.Unlock()
		return w.memory.notes["app"] == nil
	})
	asked := w.reads(deployments)
	w.never("asked again", func() bool { return w.reads(deployments) > asked || len(w.removed()) > 0 })
}

// The name of a bundle says nothing of what is in it.
func TestABundleThatIsCalledLikeAnAgentsIsUninstalled(t *testing.T) {
	w := start(t)
	w.put("fleet-agent-tools")
	w.isDeployed("fleet-agent-tools")
	assert.False(t, w.deployer.jobsOf("fleet-agent-tools")[0].Agent)
	w.hub.Remove(deployments, clusterNamespace, "fleet-agent-tools")
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}

func TestABundleOfAnotherWorkspaceIsNotTheAgents(t *testing.T) {
	s := &attached{Session: Session{Workspace: "fleet-default", Cluster: cluster}}
	bd := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Name: "fleet-agent-" + cluster}}
	assert.True(t, isAgent(bd, s), "of a hub that does not say")
	bd.Labels = map[string]string{fleet.BundleNamespaceLabel: "fleet-default"}
	assert.True(t, isAgent(bd, s))
	bd.Labels[fleet.BundleNamespaceLabel] = "other"
	assert.False(t, isAgent(bd, s))
}

func TestARemovalThatFailsIsTriedAgain(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.fails["app"] = errors.New("no") })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.never("removed", func() bool { return len(w.removed()) > 0 })
	w.deployer.with(func() { delete(w.deployer.fails, "app") })
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}
