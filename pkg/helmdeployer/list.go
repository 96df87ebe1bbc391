package helmdeployer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rancher/fleet/pkg/helmdeployer/history"
)

// Deployed is a release of this agent, as it is recorded on the cluster.
type Deployed struct {
	// BundleID is the name of the BundleDeployment that the release is of.
	BundleID string
	// Namespace and Name are those of the release.
	Namespace, Name string
	// Revision is its last one.
	Revision int
	// ServiceAccount is on whose behalf it was deployed; empty means that the bundle named none.
	ServiceAccount string
	// Origin is that of the job that deployed it last, empty where that had none.
	Origin string
	// KeepResources says that its objects stay when the bundle goes, DeleteNamespace that its namespace goes too.
	KeepResources, DeleteNamespace bool
	// Agent says that the agent's own Deployment is among its objects: the release is never uninstalled, whatever it is called.
	Agent bool
}

// known is what is known of records. What is asked for here never changes in a record, so each is read once; of the
// records of other releases it is known that they are others'.
type known struct {
	mu      sync.Mutex
	records map[string]fact
}

// fact is what a record says about whose release it is.
type fact struct {
	uid         string
	annotations map[string]string
	agent       bool
}

// List finds the releases of this agent: by the annotations of their charts, never by a name.
func (d *Deployer) List(ctx context.Context) ([]Deployed, error) {
	self, err := d.self()
	if err != nil {
		return nil, err
	}
	entries, err := history.Newest(ctx, self.Metadata)
	if err != nil {
		return nil, err
	}
	d.known.keep(entries)
	var found []Deployed
	for _, entry := range entries {
		known, ok := d.known.get(entry)
		if !ok {
			excerpt, err := history.ReadExcerpt(ctx, self.Kube.CoreV1(), entry.ID)
			if err != nil {
				return nil, err
			}
			known = d.known.put(entry, excerpt.Annotations, holdsAgent(excerpt.Manifest, entry.Namespace, d.cfg.Namespace))
		}
		notes := known.annotations
		if notes[bundleIDAnnotation] == "" || notes[agentNamespaceAnnotation] != d.cfg.Namespace {
			continue
		}
		found = append(found, Deployed{
			BundleID: notes[bundleIDAnnotation], Namespace: entry.Namespace, Name: entry.Name, Revision: entry.Revision,
			ServiceAccount: notes[accountAnnotation], Origin: notes[originAnnotation], KeepResources: notes[keepResourcesAnnotation] == "true",
			DeleteNamespace: notes[deleteNamespaceAnnotation] == "true", Agent: known.agent,
		})
	}
	slices.SortFunc(found, func(a, b Deployed) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return found, nil
}

// of are the releases of one bundle.
func (d *Deployer) of(ctx context.Context, bundleID string) ([]Deployed, error) {
	all, err := d.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for the releases of bundle %.120q: %w", bundleID, err)
	}
	return slices.DeleteFunc(all, func(r Deployed) bool { return r.BundleID != bundleID }), nil
}

// keep forgets the records that are gone.
func (k *known) keep(entries []history.Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := make(map[string]fact, len(entries))
	for _, entry := range entries {
		if known, ok := k.records[entry.ID.String()]; ok && known.uid == entry.UID {
			left[entry.ID.String()] = known
		}
	}
	k.records = left
}

func (k *known) get(entry history.Entry) (fact, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.records[entry.ID.String()]
	return known, ok
}

// maxNote bounds what is remembered of one annotation: what an agent writes there are names.
const maxNote = 1024

// put remembers the few annotations that matter. A record with one that no agent writes is nobody's.
func (k *known) put(entry history.Entry, annotations map[string]string, agent bool) fact {
	kept := map[string]string{}
	for _, key := range []string{bundleIDAnnotation, agentNamespaceAnnotation, accountAnnotation, originAnnotation, keepResourcesAnnotation, deleteNamespaceAnnotation} {
		value := annotations[key]
		if len(value) > maxNote {
			kept = nil
			break
		}
		if value != "" {
			kept[key] = value
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	made := fact{uid: entry.UID, annotations: kept, agent: agent}
	k.records[entry.ID.String()] = made
	return made
}
