package drift

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Add is called by the reflector for a new object.
func (k *kindWatch) Add(obj any) error { return k.saw(obj) }

// Update is called by the reflector for a changed object.
func (k *kindWatch) Update(obj any) error { return k.saw(obj) }

// Delete is called by the reflector for an object that is gone, or has lost the label.
func (k *kindWatch) Delete(obj any) error {
	at, _, err := look(obj)
	if err != nil {
		return err
	}
	k.all.lock.Lock()
	defer k.all.lock.Unlock()
	k.lost(at)
	return nil
}

// Replace is called by the reflector with all objects, at the start and after a watch that could not be resumed.
func (k *kindWatch) Replace(objects []any, _ string) error {
	k.all.lock.Lock()
	defer k.all.lock.Unlock()
	k.failed = false
	there := make(map[place]bool, len(objects))
	for _, obj := range objects {
		at, now, err := look(obj)
		if err != nil {
			return err
		}
		there[at] = true
		k.found(at, now)
	}
	for at := range k.objects {
		if !there[at] {
			k.lost(at)
		}
	}
	k.missed(there)
	return nil
}

// Resync is never called: nothing is to be done where nothing has changed.
func (k *kindWatch) Resync() error { return nil }

// Transformer lets the reflector keep no more than is looked at while it collects the first list.
func (k *kindWatch) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
			object.ManagedFields, object.OwnerReferences, object.Finalizers = nil, nil, nil
		}
		return obj, nil
	}
}

func (k *kindWatch) saw(obj any) error {
	at, now, err := look(obj)
	if err != nil {
		return err
	}
	k.all.lock.Lock()
	defer k.all.lock.Unlock()
	k.found(at, now)
	return nil
}

func look(obj any) (place, seen, error) {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return place{}, seen{}, fmt.Errorf("the metadata of an object was expected, not %T", obj)
	}
	return place{object.Namespace, object.Name}, seen{
		version: object.ResourceVersion, generation: object.Generation, notes: digest(object.Labels, object.Annotations),
		hash: unique.Make(object.Labels[HashLabel]), kept: object.Labels[pruneLabel] == "false",
	}, nil
}

// seed is that of all digests, which are compared within this process only.
var seed = maphash.MakeSeed()

// digest tells maps apart, whatever their order.
func digest(notes ...map[string]string) (sum uint64) {
	for i, entries := range notes {
		for name, value := range entries {
			sum += maphash.Comparable(seed, [3]string{strconv.Itoa(i), name, value})
		}
	}
	return sum
}

// found takes an object into the store and tells its bundles. The lock is held.
func (k *kindWatch) found(at place, now seen) {
	before, known := k.objects[at]
	k.objects[at] = now
	if known && before.version == now.version {
		return
	}
	// Whoever changes a status leaves the rest as it is, and does so often.
	inSpec := !known || now.generation == 0 || now.generation != before.generation || now.notes != before.notes
	key := Key{Group: k.kind.Group, Kind: k.kind.Kind, Namespace: at.namespace, Name: at.name}
	for _, b := range k.all.bundles {
		if finding, wanted := b.keys[key]; wanted {
			if !finding.known || finding.version != now.version {
				k.all.stale(b, key, inSpec)
			}
			continue
		}
		ours := now.hash.Value() == b.hash
		if was := known && before.hash.Value() == b.hash; b.left[key] && (ours != was || ours && now.kept != before.kept) {
			k.all.news.add(b.name, true)
		}
	}
}

// lost takes an object from the store and tells its bundles. The lock is held.
func (k *kindWatch) lost(at place) {
	before, known := k.objects[at]
	delete(k.objects, at)
	key := Key{Group: k.kind.Group, Kind: k.kind.Kind, Namespace: at.namespace, Name: at.name}
	for _, b := range k.all.bundles {
		if finding, wanted := b.keys[key]; wanted {
			if !finding.known || finding.version != "" {
				k.all.stale(b, key, true)
			}
		} else if known && before.hash.Value() == b.hash && b.left[key] {
			k.all.news.add(b.name, true)
		}
	}
}

// missed tells the bundles of objects that were read, and that a list has not: they went while nobody watched. The lock
// is held.
func (k *kindWatch) missed(there map[place]bool) {
	for _, b := range k.all.bundles {
		if !b.kinds[k.kind] {
			continue
		}
		for key, finding := range b.keys {
			if key.groupKind() == k.kind && finding.known && finding.version != "" && !finding.unwatched &&
				!there[place{key.Namespace, key.Name}] {
				k.all.stale(b, key, true)
			}
		}
	}
}

// stale marks what was found of an object as void and announces it. The lock is held.
func (w *Watches) stale(b *bundle, key Key, inSpec bool) {
	finding := b.keys[key]
	finding.known = false
	b.keys[key] = finding
	w.news.add(b.name, inSpec)
}
