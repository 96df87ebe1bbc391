package drift

import (
	"context"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/rancher/fleet/pkg/agent/pace"
)

// Config is what Watches need.
type Config struct {
	Cluster Cluster
	// Notify is called with the name of a bundle when its objects have changed: soon after the first change, and the more
	// rarely the longer changes go on. It is called by one goroutine, and must not wait.
	Notify func(bundle string)
	Clock  clock.WithTicker
	Random pace.Random
}

// Watches knows what was found of the objects of all bundles, and which of them have changed since.
type Watches struct {
	cfg  Config
	ctx  context.Context
	news *news
	done sync.WaitGroup

	lock    sync.Mutex
	kinds   map[schema.GroupKind]*kindWatch
	bundles map[string]*bundle
}

// bundle is what is remembered of one bundle's objects.
type bundle struct {
	name string
	// busy is held while the objects are read: one reading at a time.
	busy sync.Mutex

	// The rest is guarded by Watches.lock.
	hash string
	// basis says what the findings were compared with. Another release or other options make them void.
	basis string
	keys  map[Key]finding
	kinds map[schema.GroupKind]bool
	// left are the objects that the revision before had, and this one has not.
	left map[Key]bool
}

// finding is what was found of a wanted object when it was read last.
type finding struct {
	Observation
	// version of the object that was read, empty if it was not there. known is false if there was no reading since the
	// last change.
	version string
	known   bool
	// unwatched says that the object has no label by which it is watched.
	unwatched bool
}

// Start begins without any watch. The end of the context ends everything; Wait waits for that.
func Start(ctx context.Context, cfg Config) *Watches {
	w := &Watches{cfg: cfg, ctx: ctx, kinds: map[schema.GroupKind]*kindWatch{}, bundles: map[string]*bundle{}}
	w.news = newNews(cfg.Clock)
	w.done.Go(func() { w.news.run(ctx, cfg.Notify) })
	return w
}

// Wait waits until all watches have ended, which they do when the context of Start ends.
func (w *Watches) Wait() { w.done.Wait() }

// Track watches the objects of a bundle. Status does so too; Track alone is for a bundle whose status is not asked yet.
func (w *Watches) Track(name string, wanted Wanted) {
	w.track(name, Compile(wanted, w.cfg.Cluster.Namespaced), basisOf(wanted), wanted.Afresh)
}

func (w *Watches) track(name string, plan *Plan, basis string, afresh bool) *bundle {
	w.lock.Lock()
	defer w.lock.Unlock()
	b, known := w.bundles[name]
	if !known {
		b = &bundle{name: name}
		w.bundles[name] = b
	}
	if known && !afresh && basis != "" && basis == b.basis {
		return b
	}
	b.basis, b.hash, b.keys = basis, plan.hash, make(map[Key]finding, len(plan.keys))
	kinds := map[schema.GroupKind]bool{}
	for _, key := range plan.keys {
		b.keys[key] = finding{}
		kinds[key.groupKind()] = true
	}
	b.left = map[Key]bool{}
	for key := range plan.previous {
		kinds[key.groupKind()] = true
		if _, wanted := plan.objects[key]; !wanted {
			b.left[key] = true
		}
	}
	before := b.kinds
	b.kinds = kinds
	for kind := range kinds {
		if !before[kind] {
			w.hold(kind)
		}
	}
	for kind := range before {
		if !kinds[kind] {
			w.release(kind)
		}
	}
	return b
}

// Forget ends what Track and Status began. A bundle that is not known is no error.
func (w *Watches) Forget(name string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	b, known := w.bundles[name]
	if !known {
		return
	}
	delete(w.bundles, name)
	w.news.forget(name)
	for kind := range b.kinds {
		w.release(kind)
	}
}

// hold starts the watch of a kind, or keeps it for one bundle more. The lock is held.
func (w *Watches) hold(kind schema.GroupKind) {
	if watch, running := w.kinds[kind]; running {
		watch.holders++
		return
	}
	ctx, cancel := context.WithCancel(w.ctx)
	watch := &kindWatch{all: w, kind: kind, holders: 1, cancel: cancel, objects: map[place]seen{}}
	w.kinds[kind] = watch
	w.done.Go(func() { watch.run(ctx) })
}

// release ends the watch of a kind with its last holder. The lock is held.
func (w *Watches) release(kind schema.GroupKind) {
	watch := w.kinds[kind]
	if watch.holders--; watch.holders > 0 {
		return
	}
	watch.cancel()
	delete(w.kinds, kind)
}

// basisOf is empty where nothing says that two calls mean the same.
func basisOf(wanted Wanted) string {
	if wanted.Release == "" {
		return ""
	}
	options, err := json.Marshal([]any{wanted.Options.Diff, wanted.Options.IgnoreOptions, wanted.Hash, wanted.Namespace,
		len(wanted.Objects), len(wanted.Previous)})
	if err != nil {
		return ""
	}
	return wanted.Release + " " + string(options)
}

func (k Key) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }
