package helmdeployer

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"helm.sh/helm/v3/pkg/release"
)

// trusted are the revisions that this agent wrote itself since its start, or read when the hub named them: those of which
// more than a record on the cluster says that they are the agent's. Whoever may write Secrets in any namespace can write
// such a record, or change one.
type trusted struct {
	mu       sync.Mutex
	releases map[[2]string]map[int]voucher
	// named are the bundles of which the hub said that a release is theirs: it may be removed with them.
	named map[[2]string]string
}

// voucher is what is known of a revision: on whose behalf it was deployed, and what its record says.
type voucher struct {
	owner  Owner
	digest [sha256.Size]byte
}

// digest tells records apart by what can be done by them. What Helm changes in a record later is not part of it.
func digest(found *release.Release) [sha256.Size]byte {
	type hook struct {
		Name, Kind, Path, Manifest string
		Events                     []release.HookEvent
		Weight                     int
	}
	said := struct {
		Manifest string
		Hooks    []hook
		Notes    map[string]string `json:",omitempty"`
	}{Manifest: found.Manifest, Notes: notesOf(found)}
	for _, h := range found.Hooks {
		if h == nil {
			h = &release.Hook{}
		}
		said.Hooks = append(said.Hooks, hook{h.Name, h.Kind, h.Path, h.Manifest, h.Events, h.Weight})
	}
	// Strings and numbers always have a JSON form.
	data, _ := json.Marshal(said)
	return sha256.Sum256(data)
}

// add remembers a revision.
func (t *trusted) add(owner Owner, found *release.Release) {
	made := voucher{owner: owner, digest: digest(found)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.releases == nil {
		t.releases = map[[2]string]map[int]voucher{}
	}
	key := [2]string{owner.Namespace, owner.Name}
	if t.releases[key] == nil {
		t.releases[key] = map[int]voucher{}
	}
	t.releases[key][found.Version] = made
}

// name remembers that the hub said of a release that it is a bundle's.
func (t *trusted) name(namespace, name, bundle string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.named == nil {
		t.named = map[[2]string]string{}
	}
	t.named[[2]string{namespace, name}] = bundle
}

// isNamed says whether more than its record says of a release that it is the bundle's.
func (t *trusted) isNamed(of Deployed) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{of.Namespace, of.Name}
	if t.named[key] == of.BundleID {
		return true
	}
	for _, made := range t.releases[key] {
		if made.owner.BundleID == of.BundleID {
			return true
		}
	}
	return false
}

// knows says whether there is a voucher for a revision, and whether it is for what the record says now.
func (t *trusted) knows(namespace, name string, found *release.Release) (known, same bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	made, known := t.releases[[2]string{namespace, name}][found.Version]
	return known, known && made.digest == digest(found)
}

// newest is the owner of the newest revision that is known, and which revision that is.
func (t *trusted) newest(namespace, name string) (owner Owner, revision int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for number, made := range t.releases[[2]string{namespace, name}] {
		if number > revision {
			owner, revision = made.owner, number
		}
	}
	return owner, revision
}

// keep forgets the revisions of a release that are not recorded any more.
func (t *trusted) keep(namespace, name string, recorded []*release.Release) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{namespace, name}
	known := t.releases[key]
	delete(t.releases, key)
	left := map[int]voucher{}
	for _, found := range recorded {
		if made, ok := known[found.Version]; ok {
			left[found.Version] = made
		}
	}
	if len(left) > 0 {
		t.releases[key] = left
	}
}

// drop forgets a release that is gone.
func (t *trusted) drop(namespace, name string) {
	t.keep(namespace, name, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.named, [2]string{namespace, name})
}
