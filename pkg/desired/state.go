package desired

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hashIndex is the index that the engine adds to the cache of each declared kind: objects by the hash of their set.
const hashIndex = "wrangler.byObjectSetHash"

// digest stands for what a set should hold, or for what it holds.
type digest [sha256.Size]byte

// wanted are the objects that should exist.
type wanted map[objectKey]runtime.Object

// digest covers all that the engine's result depends on: the objects, and the owner that they refer to.
func (w wanted) digest(owner Owner) (digest, error) {
	sum := sha256.New()
	if owner != nil {
		fmt.Fprintf(sum, "%s\n", owner.GetUID())
	}
	for _, key := range sorted(w) {
		fmt.Fprintf(sum, "%s %s\n", key.kind, key)
		if err := json.NewEncoder(sum).Encode(w[key]); err != nil {
			return digest{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	return digest(sum.Sum(nil)), nil
}

// live are the objects that the cache shows, each with what changes whenever the object does.
type live map[objectKey]string

// look asks the caches what the set holds.
func (a *Applier) look(id string) (live, error) {
	found := live{}
	for kind, declared := range a.kinds {
		objs, err := declared.indexer.ByIndex(hashIndex, id)
		if err != nil {
			return nil, fmt.Errorf("cache of %s: %w", kind.Kind, err)
		}
		for _, obj := range objs {
			object, err := meta.Accessor(obj)
			if err != nil {
				return nil, fmt.Errorf("cache of %s: %w", kind.Kind, err)
			}
			found[keyOf(kind, object)] = string(object.GetUID()) + " " + object.GetResourceVersion()
		}
	}
	return found, nil
}

// holds reports whether there is an object of that kind.
func (l live) holds(kind schema.GroupVersionKind) bool {
	for key := range l {
		if key.kind == kind {
			return true
		}
	}
	return false
}

func (l live) digest() digest {
	sum := sha256.New()
	for _, key := range sorted(l) {
		_, _ = io.WriteString(sum, key.kind.String()+" "+key.String()+" "+l[key]+"\n")
	}
	return digest(sum.Sum(nil))
}

// sameNames reports whether exactly the wanted objects exist, whatever they look like.
func (l live) sameNames(w wanted) bool {
	if len(l) != len(w) {
		return false
	}
	for key := range w {
		if _, ok := l[key]; !ok {
			return false
		}
	}
	return true
}

func sorted[V any](m map[objectKey]V) []objectKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b objectKey) int {
		if c := strings.Compare(a.kind.String(), b.kind.String()); c != 0 {
			return c
		}
		return strings.Compare(a.String(), b.String())
	})
}
