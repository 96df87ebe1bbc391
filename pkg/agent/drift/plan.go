package drift

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Plan is a release, prepared for the comparison.
type Plan struct {
	hash    string
	keys    []Key
	objects map[Key]*unstructured.Unstructured
	// previous are the objects of the revision before that Helm removes with it.
	previous map[Key]schema.GroupVersionKind
	scaled   map[Key]span
	patches  []comparePatch
	ignore   []map[string]string
}

// Compile prepares what a release set. It does not change the objects, and keeps them.
func Compile(wanted Wanted, scope Scope) *Plan {
	plan := &Plan{hash: wanted.Hash, objects: map[Key]*unstructured.Unstructured{}, previous: map[Key]schema.GroupVersionKind{}}
	for _, obj := range flat(wanted.Objects) {
		if obj.GetName() != "" { // one whose name the server makes up cannot be found again
			plan.objects[keyOf(obj, wanted.Namespace, scope)] = obj
		}
	}
	for _, obj := range flat(wanted.Previous) {
		if obj.GetAnnotations()[keepAnnotation] != keepValue {
			plan.previous[keyOf(obj, wanted.Namespace, scope)] = obj.GroupVersionKind()
		}
	}
	plan.keys = slices.SortedFunc(maps.Keys(plan.objects), Key.Compare)
	plan.scaled = scaledByOthers(plan.objects)
	if wanted.Options.Diff != nil {
		plan.patches = compilePatches(wanted.Options.Diff.ComparePatches)
	}
	if wanted.Options.IgnoreOptions != nil {
		plan.ignore = wanted.Options.IgnoreOptions.Conditions
	}
	return plan
}

// Keys are the wanted objects, in order.
func (p *Plan) Keys() []Key { return p.keys }

// Examine compares a live object with the wanted one. The change is what a patch would have to set, nil if nothing; it
// holds values of Secrets, which the observation does not.
func (p *Plan) Examine(key Key, live *unstructured.Unstructured) (found Observation, change map[string]any) {
	found = Observation{
		APIVersion: live.GetAPIVersion(), UID: live.GetUID(), CreatedAt: live.GetCreationTimestamp(),
		Foreign: live.GetLabels()[HashLabel] != p.hash,
		Kept:    live.GetLabels()[pruneLabel] == "false",
	}
	desired, wanted := p.objects[key]
	if found.Foreign || !wanted {
		return found, nil
	}
	found.APIVersion = desired.GetAPIVersion()
	found.NotReady = p.notReady(live)
	change = p.change(key, desired, live)
	found.Patch = patchText(key, change)
	return found, change
}

// change is what differs, after both sides were brought into the same form.
func (p *Plan) change(key Key, desired, live *unstructured.Unstructured) map[string]any {
	want, have, shape := normal(key, desired, live)
	if within, ok := p.scaled[key]; ok && within.holds(have) {
		unstructured.RemoveNestedField(want, "spec", "replicas")
	}
	for _, patch := range p.patches {
		if patch.matches(key) {
			want, have = patch.apply(want), patch.apply(have)
		}
	}
	return difference(want, have, shape)
}

// ignored says whether the options leave out that the object is missing or extra.
func (p *Plan) ignored(key Key) bool {
	return slices.ContainsFunc(p.patches, func(patch comparePatch) bool { return patch.ignores(key) })
}
