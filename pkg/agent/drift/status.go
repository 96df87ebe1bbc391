package drift

import (
	"cmp"
	"maps"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// maxEntries bounds the lists of objects that are not as they should be, maxResources the list of all, in number and in
// bytes: names may be long.
const (
	maxEntries       = 10
	maxResources     = 1000
	maxResourceBytes = 160 << 10
	// aroundResource is what JSON needs for an entry besides its texts: the names of the fields, and a time.
	aroundResource = 110
)

// Status compares the objects of a release with those that were found.
func Status(in Input) Result {
	plan := Compile(in.Wanted, in.Scope)
	observed := make(map[Key]Observation, len(in.Live))
	for _, live := range flat(in.Live) {
		key := keyOf(live, in.Wanted.Namespace, in.Scope)
		observed[key], _ = plan.Examine(key, live)
	}
	return plan.Status(observed)
}

// Status sums up what was found. An object that is not among the observed is not there.
func (p *Plan) Status(observed map[Key]Observation) Result {
	var modified []fleet.ModifiedStatus
	var nonReady []fleet.NonReadyStatus
	var result Result
	counts := &result.ResourceCounts
	for _, key := range p.keys {
		found, exists := observed[key]
		entry, differs := p.entry(key, found, exists)
		if differs {
			modified = append(modified, entry)
			if entry.Create {
				counts.Missing++
			} else {
				counts.Modified++
			}
		}
		if !exists || found.Foreign {
			if !differs { // ignored: nobody waits for it
				continue
			}
			counts.DesiredReady++
			continue
		}
		counts.DesiredReady++
		result.Resources = append(result.Resources, resourceOf(key, found))
		if found.NotReady != nil {
			nonReady = append(nonReady, nonReadyOf(key, found))
			if !differs {
				counts.NotReady++
			}
		}
	}
	for _, key := range p.extra(observed) {
		modified = append(modified, fleet.ModifiedStatus{APIVersion: observed[key].APIVersion, Kind: key.Kind,
			Namespace: key.Namespace, Name: key.Name, Delete: true})
		counts.DesiredReady++
		counts.Orphaned++
	}
	counts.Ready = counts.DesiredReady - counts.Missing - counts.Modified - counts.Orphaned - counts.NotReady
	result.Ready, result.NonModified = len(nonReady) == 0, len(modified) == 0
	result.list(nonReady, modified)
	return result
}

// list sorts the lists and cuts them.
func (r *Result) list(nonReady []fleet.NonReadyStatus, modified []fleet.ModifiedStatus) {
	slices.SortFunc(nonReady, func(a, b fleet.NonReadyStatus) int { return cmp.Compare(a.UID, b.UID) })
	slices.SortFunc(modified, func(a, b fleet.ModifiedStatus) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.Resources, func(a, b fleet.BundleDeploymentResource) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	fits := fitting(r.Resources)
	r.Incomplete = len(nonReady) > maxEntries || len(modified) > maxEntries || len(r.Resources) > fits
	r.NonReadyStatus = slices.Clip(nonReady[:min(len(nonReady), maxEntries)])
	r.ModifiedStatus = slices.Clip(modified[:min(len(modified), maxEntries)])
	r.Resources = r.Resources[:fits]
}

// fitting is how many of the resources a status has room for.
func fitting(resources []fleet.BundleDeploymentResource) int {
	bytes := 0
	for i, r := range resources[:min(len(resources), maxResources)] {
		bytes += len(r.Kind) + len(r.APIVersion) + len(r.Namespace) + len(r.Name) + aroundResource
		if bytes > maxResourceBytes {
			return i
		}
	}
	return min(len(resources), maxResources)
}

// entry says how a wanted object is not what it should be.
func (p *Plan) entry(key Key, found Observation, exists bool) (fleet.ModifiedStatus, bool) {
	entry := fleet.ModifiedStatus{APIVersion: p.objects[key].GetAPIVersion(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	switch {
	case !exists || found.Foreign:
		entry.Create, entry.Exist = true, exists
		return entry, !p.ignored(key)
	case found.Patch != "":
		entry.Patch = found.Patch
		return entry, true
	default:
		return entry, false
	}
}

// extra are the objects of the bundle that are no longer wanted, in order.
func (p *Plan) extra(observed map[Key]Observation) []Key {
	return slices.SortedFunc(func(yield func(Key) bool) {
		for key := range maps.Keys(observed) {
			_, wanted := p.objects[key]
			found := observed[key]
			_, before := p.previous[key]
			if !wanted && before && !found.Foreign && !found.Kept && !p.ignored(key) && !yield(key) {
				return
			}
		}
	}, Key.Compare)
}

func resourceOf(key Key, found Observation) fleet.BundleDeploymentResource {
	return fleet.BundleDeploymentResource{Kind: key.Kind, APIVersion: found.APIVersion, Namespace: key.Namespace,
		Name: key.Name, CreatedAt: found.CreatedAt}
}

func nonReadyOf(key Key, found Observation) fleet.NonReadyStatus {
	return fleet.NonReadyStatus{UID: found.UID, Kind: key.Kind, APIVersion: found.APIVersion, Namespace: key.Namespace,
		Name: key.Name, Summary: *found.NotReady}
}
