package drift

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// oneByOne is up to how many objects of a kind and namespace are read each by itself.
	oneByOne = 3
	// maxAbsent is how many absent objects are looked for by name in one reading, to say whether another owns them, and how
	// many that are left over.
	maxAbsent = 20
)

// Status compares a bundle with the cluster, and goes on watching it. It reads what has changed since the last call, and
// nothing else. An error means that the cluster could not be read: what was known before is still the best there is.
func (w *Watches) Status(ctx context.Context, name string, wanted Wanted) (Result, error) {
	plan, basis := Compile(wanted, w.cfg.Cluster.Namespaced), basisOf(wanted)
	b := w.track(name, plan, basis, wanted.Afresh)
	b.busy.Lock()
	defer b.busy.Unlock()
	reading := &reading{Watches: w, plan: plan, found: map[Key]finding{}}
	if err := reading.all(ctx, w.toRead(b, plan)); err != nil {
		w.forgetReading(b)
		return Result{}, fmt.Errorf("bundle %s: %w", name, err)
	}
	observed, unwatched := w.learn(b, basis, plan, reading.found)
	if err := reading.extra(ctx, observed); err != nil {
		return Result{}, fmt.Errorf("bundle %s: %w", name, err)
	}
	result := plan.Status(observed)
	result.Unwatched = unwatched
	return result, nil
}

// toRead are the objects of which nothing is known, in groups that one list can serve. From here on a change of one of
// them makes it unknown again.
func (w *Watches) toRead(b *bundle, plan *Plan) map[group][]Key {
	w.lock.Lock()
	defer w.lock.Unlock()
	groups := map[group][]Key{}
	for _, key := range plan.keys {
		finding := b.keys[key]
		if finding.known && !finding.unwatched {
			continue
		}
		finding.known = true
		b.keys[key] = finding
		at := group{plan.objects[key].GroupVersionKind(), key.Namespace}
		groups[at] = append(groups[at], key)
	}
	return groups
}

// forgetReading makes everything unknown after a reading that failed.
func (w *Watches) forgetReading(b *bundle) {
	w.lock.Lock()
	defer w.lock.Unlock()
	b.basis = ""
}

// learn remembers what was found, and says what is known now.
func (w *Watches) learn(b *bundle, basis string, plan *Plan, found map[Key]finding) (observed map[Key]Observation, unwatched bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	observed = make(map[Key]Observation, len(plan.keys))
	settled := true
	for _, key := range plan.keys {
		current, fresh := found[key]
		if !fresh {
			current = b.keys[key]
		} else if b.basis == basis {
			// A change that came in meanwhile may be the one that was read.
			current.known = b.keys[key].known || w.versionOf(key) == current.version
			b.keys[key] = current
		}
		settled = settled && current.known
		if current.version != "" {
			observed[key] = current.Observation
		}
		unwatched = unwatched || current.unwatched
	}
	if settled {
		w.news.settle(b.name) // whatever was to be told has been read
	}
	return observed, unwatched
}

// versionOf is the version of an object that its watch has seen last, empty if there is none. The lock is held.
func (w *Watches) versionOf(key Key) string {
	if kind := w.kinds[key.groupKind()]; kind != nil {
		return kind.objects[place{key.Namespace, key.Name}].version
	}
	return ""
}

// group is what one list can serve.
type group struct {
	kind      schema.GroupVersionKind
	namespace string
}

// reading is one look at the cluster.
type reading struct {
	*Watches
	plan  *Plan
	found map[Key]finding
	// absent, tries and extras count what is bounded.
	absent, tries, extras int
}

func (r *reading) all(ctx context.Context, groups map[group][]Key) error {
	order := slices.SortedFunc(maps.Keys(groups), func(a, b group) int { return groups[a][0].Compare(groups[b][0]) })
	for _, at := range order {
		if err := r.group(ctx, at, groups[at]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) group(ctx context.Context, at group, keys []Key) error {
	listed := len(keys) > oneByOne
	if listed {
		asked := make(map[Key]bool, len(keys))
		for _, key := range keys {
			asked[key] = true
		}
		err := r.cfg.Cluster.List(ctx, at.kind, at.namespace, r.plan.hash, func(obj *unstructured.Unstructured) {
			key := Key{Group: at.kind.Group, Kind: at.kind.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
			if asked[key] {
				r.look(ctx, key, obj)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, key := range keys {
		if _, done := r.found[key]; done {
			continue
		}
		if listed {
			if r.absent++; r.absent > maxAbsent {
				r.found[key] = finding{}
				continue
			}
		}
		obj, err := r.cfg.Cluster.Get(ctx, at.kind, key)
		if err != nil {
			return err
		}
		if obj == nil {
			r.found[key] = finding{}
			continue
		}
		r.look(ctx, key, obj)
	}
	return nil
}

// look compares one object. The object is not kept.
func (r *reading) look(ctx context.Context, key Key, live *unstructured.Unstructured) {
	observation, change := r.plan.Examine(key, live)
	if change != nil {
		observation.Patch = patchText(key, r.inEffect(ctx, key, live, change))
	}
	r.found[key] = finding{Observation: observation, version: live.GetResourceVersion(), unwatched: live.GetLabels()[HashLabel] == ""}
}

// extra adds what the revision before had and this one has not, and what is still there: according to the watch, and to a
// second look, since Helm may just have deleted it.
func (r *reading) extra(ctx context.Context, observed map[Key]Observation) error {
	for _, key := range r.left() {
		if r.extras++; r.extras > maxAbsent {
			observed[key] = Observation{APIVersion: r.plan.previous[key].GroupVersion().String()}
			continue
		}
		obj, err := r.cfg.Cluster.Get(ctx, r.plan.previous[key], key)
		if err != nil {
			return err
		}
		if obj != nil {
			observed[key], _ = r.plan.Examine(key, obj) // what differs does not matter of an object that nobody wants
		}
	}
	return nil
}

// left are the objects of the revision before that are still watched as the bundle's, in order.
func (r *reading) left() (keys []Key) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for key := range r.plan.previous {
		if _, wanted := r.plan.objects[key]; wanted || r.kinds[key.groupKind()] == nil {
			continue
		}
		now, there := r.kinds[key.groupKind()].objects[place{key.Namespace, key.Name}]
		if there && now.hash.Value() == r.plan.hash && !now.kept {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, Key.Compare)
	return keys
}
