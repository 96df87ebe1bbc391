package drift

import (
	"context"
	"errors"
	"io"
	"time"
	"unique"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/fleet/pkg/agent/pace"
)

// A watch that fails, or whose kind is not served, begins again after these pauses. One that held for steady begins
// with the first again.
const (
	firstPause = time.Second
	maxPause   = time.Minute
	steady     = time.Minute
)

// kindWatch follows all objects of one kind that belong to bundles. It is the store of a reflector.
type kindWatch struct {
	all     *Watches
	kind    schema.GroupKind
	cancel  context.CancelFunc
	holders int

	// The rest is guarded by Watches.lock.
	objects map[place]seen
	failed  bool
}

// place is where an object of a known kind is.
type place struct{ namespace, name string }

// seen is all that is kept of an object's metadata.
type seen struct {
	version    string
	generation int64
	// notes is a digest of labels and annotations.
	notes uint64
	hash  unique.Handle[string]
	kept  bool
}

// run lists and watches until the context ends.
func (k *kindWatch) run(ctx context.Context) {
	clk := k.all.cfg.Clock
	pauses := pace.Backoff{First: firstPause, Max: maxPause, Random: k.all.cfg.Random}
	var reflector *cache.Reflector
	for ctx.Err() == nil {
		began := clk.Now()
		var err error
		if reflector == nil {
			reflector, err = k.reflector()
		}
		if err == nil {
			err = reflector.ListAndWatchWithContext(ctx)
		}
		if apierrors.IsNotFound(err) {
			reflector = nil // the kind is gone, or has moved to another version
		}
		if clk.Since(began) > steady {
			pauses.Reset()
		}
		if ctx.Err() == nil && err != nil {
			k.fails(err)
		}
		_ = pace.Sleep(ctx, clk, pauses.Next()) // its one error is the context's end, which the loop sees
	}
}

func (k *kindWatch) reflector() (*cache.Reflector, error) {
	objects, err := k.all.cfg.Cluster.Watch(k.kind)
	if err != nil {
		return nil, err
	}
	return cache.NewReflectorWithOptions(objects, &metav1.PartialObjectMetadata{}, k,
		cache.ReflectorOptions{Name: "drift", TypeDescription: k.kind.String()}), nil
}

// fails logs the first of a row of failures; the others are for those who look closely.
func (k *kindWatch) fails(err error) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	k.all.lock.Lock()
	first := !k.failed
	k.failed = true
	k.all.lock.Unlock()
	log := logrus.WithError(err).WithField("kind", k.kind.String())
	if first {
		log.Warn("Objects of this kind cannot be watched: what others change is not noticed until they can")
		return
	}
	log.Debug("Objects of this kind still cannot be watched")
}
