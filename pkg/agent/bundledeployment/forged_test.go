package bundledeployment

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rancher/fleet/pkg/helmdeployer"
)

// more lists releases more, whose records somebody wrote who may write Secrets in their namespace, or which were deployed
// under another name.
type more struct {
	*deployer
	others []helmdeployer.Deployed
	proven bool
}

func (m *more) List(ctx context.Context) ([]helmdeployer.Deployed, error) {
	all, err := m.deployer.List(ctx)
	return append(all, m.others...), err
}

func (m *more) Proven(ctx context.Context, release helmdeployer.Deployed) (bool, error) {
	if release.Namespace != "default" {
		return m.proven, nil
	}
	return m.deployer.Proven(ctx, release)
}

func TestAForgedRecordDoesNotKeepWhatWasDeployed(t *testing.T) {
	for name, forged := range map[string]helmdeployer.Deployed{
		"by what it keeps":  {BundleID: "app", Namespace: "attackers", Name: "x", Revision: 1, KeepResources: true},
		"by an agent":       {BundleID: "app", Namespace: "attackers", Name: "x", Revision: 1, Agent: true},
		"by another origin": {BundleID: "app", Namespace: "attackers", Name: "x", Revision: 1, Origin: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.put("app")
			w.isDeployed("app")
			w.Reconciler.Deployer = &more{deployer: w.deployer, others: []helmdeployer.Deployed{forged}}
			w.hub.Remove(deployments, clusterNamespace, "app")
			w.eventually("it is taken away", func() bool { u, f := w.deployer.gone(); return len(u)+len(f) > 0 })
			uninstalled, forgotten := w.deployer.gone()
			assert.Equal(t, []string{"app"}, uninstalled)
			assert.Empty(t, forgotten)
		})
	}
}

// isAnothers has the hub become another one that does not have the bundle.
func (w *world) isAnothers(name string) {
	w.hub.Remove("/namespaces", "", clusterNamespace)
	w.hub.Put("/namespaces", placeOf("uid-of-another-life"))
	w.hub.Remove(deployments, clusterNamespace, name)
	w.eventually("it is found to be another hub's", func() (foreign bool) {
		w.memory.about(name, func(n *note) { foreign = n.foreign })
		return foreign
	})
}

func TestAForgedRecordDoesNotRemoveWhatAnotherHubBrought(t *testing.T) {
	w := start(t)
	w.put("stays")
	w.isDeployed("stays")
	w.Reconciler.Deployer = &more{deployer: w.deployer, others: []helmdeployer.Deployed{{BundleID: "stays", Namespace: "attackers", Name: "x", Revision: 1}}}
	w.isAnothers("stays")
	w.never("removed", func() bool { return len(w.removed()) > 0 })
}

// A bundle one of whose releases is another hub's for certain is kept, whatever the others say.
func TestWhatIsPartlyAnotherHubsIsKept(t *testing.T) {
	w := start(t)
	w.put("stays")
	w.isDeployed("stays")
	w.Reconciler.Deployer = &more{deployer: w.deployer, proven: true, others: []helmdeployer.Deployed{{BundleID: "stays", Namespace: "other", Name: "x", Revision: 1}}}
	w.isAnothers("stays")
	w.never("removed", func() bool { return len(w.removed()) > 0 })
}

// Each of the releases is then kept or removed as it says of itself.
func TestOneReleaseThatIsKeptDoesNotKeepAnother(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	kept := helmdeployer.Deployed{BundleID: "app", Namespace: "other", Name: "x", Revision: 1, KeepResources: true}
	w.Reconciler.Deployer = &more{deployer: w.deployer, proven: true, others: []helmdeployer.Deployed{kept}}
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.eventually("the deployer tells them apart", func() bool { return len(w.removed()) > 0 })
	_, forgotten := w.deployer.gone()
	assert.Empty(t, forgotten)
}

// Whose key is gone has no proof of anything: what says of itself that it is to be kept, or another hub's, is.
func TestWhereNothingIsProvenRecordsAreBelievedInOrderToKeep(t *testing.T) {
	w := start(t)
	w.put("stays")
	w.put("kept")
	w.isDeployed("stays")
	w.isDeployed("kept")
	w.deployer.with(func() {
		w.deployer.keeps["kept"] = true
		w.deployer.unproven["kept"], w.deployer.unproven["stays"] = true, true
	})
	w.hub.Remove(deployments, clusterNamespace, "kept")
	w.eventually("it is forgotten", func() bool { _, forgotten := w.deployer.gone(); return len(forgotten) == 1 })
	w.isAnothers("stays")
	w.never("removed", func() bool { return len(w.removed()) > 0 })
}

func TestNothingIsRemovedWhileItCannotBeToldWhatIsProven(t *testing.T) {
	w := start(t)
	w.put("app")
	w.isDeployed("app")
	w.deployer.with(func() { w.deployer.unsaid = errors.New("the API server is away") })
	w.hub.Remove(deployments, clusterNamespace, "app")
	w.never("removed", func() bool { u, f := w.deployer.gone(); return len(u)+len(f) > 0 })
	w.deployer.with(func() { w.deployer.unsaid = nil })
	w.eventually("it is uninstalled", func() bool { return len(w.removed()) == 1 })
}
