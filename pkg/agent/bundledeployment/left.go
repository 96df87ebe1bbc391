package bundledeployment

import (
	"context"
	"maps"
	"slices"
	"time"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

const (
	// maxRemoving bounds how many bundles are named that are still to be removed, maxBundleName how much of each name.
	maxRemoving, maxBundleName = 10, 64
	// listing ends a look at the releases that gets no answer: a report must not wait for it.
	listing = 10 * time.Second
)

// Bundles is what is to be said of the bundles on the cluster, nil while that is not known. A Cluster that is being deleted may
// wait until there are none, so that is said only when it is certain: the hub has none for this cluster, none is being worked
// on, and no release of one is left.
func (r *Reconciler) Bundles(ctx context.Context) *fleet.AgentBundles {
	said := r.bundles(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = said
	return said
}

func (r *Reconciler) bundles(ctx context.Context) *fleet.AgentBundles {
	session := r.session()
	if session == nil {
		return nil
	}
	wanted := session.bundles()
	gone := r.memory.others(wanted)
	delete(gone, names.AgentBundle(session.Cluster))
	if len(wanted)+len(gone) == 0 {
		var err error
		if gone, err = r.deployed(ctx, session); err != nil {
			return nil
		}
	}
	said := &fleet.AgentBundles{Count: len(wanted) + len(gone)}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if len(said.Removing) < maxRemoving {
			said.Removing = append(said.Removing, registration.Printable(name, maxBundleName))
		}
	}
	return said
}

// deployed are the bundles that a release is left of, but the agent's own and what another hub brought.
func (r *Reconciler) deployed(ctx context.Context, session *attached) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, listing)
	defer cancel()
	releases, err := r.Deployer.List(ctx)
	if err != nil || len(releases) == 0 {
		return nil, err
	}
	origin, err := session.Origin(ctx, session.Namespace)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, release := range releases {
		foreign := origin != "" && release.Origin != "" && release.Origin != origin
		if !foreign && !hasAgent(release.BundleID, session, []helmdeployer.Deployed{release}) {
			found[release.BundleID] = true
		}
	}
	return found, nil
}

// removing has it said that bundles are being removed of which the hub has none any more. While it has some for this cluster,
// what is removed is said with the next report: of a Cluster that is being deleted there are none.
func (r *Reconciler) removing(session *attached) {
	r.mu.Lock()
	news := r.said == nil || len(r.said.Removing) == 0
	r.mu.Unlock()
	if news && len(session.bundles()) == 0 {
		r.tell()
	}
}

// removed has it said that nothing is left.
func (r *Reconciler) removed(ctx context.Context, session *attached) {
	r.mu.Lock()
	news := r.said == nil || r.said.Count > 0
	r.mu.Unlock()
	if !news || len(session.bundles()) > 0 {
		return
	}
	if left := r.bundles(ctx); left != nil && left.Count == 0 {
		r.tell()
	}
}

func (r *Reconciler) tell() {
	if r.Told != nil {
		r.Told()
	}
}

// bundles are the names of the bundles that the hub has for this cluster, but the agent's own.
func (a *attached) bundles() map[string]bool {
	found := map[string]bool{}
	for _, bd := range a.all() {
		if !isAgent(bd, a) {
			found[bd.Name] = true
		}
	}
	return found
}

// others are the bundles that something is known of beside those given, but what another hub brought.
func (m *memory) others(known map[string]bool) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[string]bool{}
	for name, n := range m.notes {
		if !known[name] && !n.foreign {
			found[name] = true
		}
	}
	return found
}
