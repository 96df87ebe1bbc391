package bundle

import (
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/deployment"
)

const (
	// writeTries bounds how often a conflict is answered with a fresh read.
	writeTries = 3
	// maxRetryErrors bounds what a log says of a bundle that fails on all of its clusters.
	maxRetryErrors = 5
)

// errBehind says that a deployment is not as the cache had it. What it is like is known now, and is to be looked at anew.
var errBehind = errors.New("the cache was behind")

// results gathers what came of many writes.
type results struct {
	lock     sync.Mutex
	created  int
	behind   bool
	problems map[types.NamespacedName]string
	errs     []error
	retry    error
}

// applyAll writes the changes, several at a time. What fails for one cluster holds up no other.
func (h *handler) applyAll(changes []change) *results {
	r := &results{problems: map[types.NamespacedName]string{}}
	var writers sync.WaitGroup
	next := make(chan change)
	for range min(bundleWrites, len(changes)) {
		writers.Go(func() {
			for c := range next {
				h.slots <- struct{}{}
				err := h.applyOne(c)
				<-h.slots
				r.note(c, err)
			}
		})
	}
	for _, c := range changes {
		next <- c
	}
	close(next)
	writers.Wait()
	r.retry = bounded(r.errs)
	return r
}

func (r *results) note(c change, err error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	switch {
	case err == nil:
		if c.create {
			r.created++
		}
	case errors.Is(err, errBehind):
		r.behind = true
	default:
		r.problems[c.key] = err.Error()
		if isRetried(err) {
			r.errs = append(r.errs, fmt.Errorf("cluster %s: %w", c.key, err))
		}
	}
}

// isRetried says whether trying again may help: not where the API server refused the object itself, nor where its
// namespace goes or is gone. An event tells when that changes.
func isRetried(err error) bool {
	return !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) && !apierrors.IsRequestEntityTooLargeError(err) &&
		!apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && !apierrors.IsNotFound(err)
}

func bounded(errs []error) error {
	if len(errs) > maxRetryErrors {
		errs = append(errs[:maxRetryErrors:maxRetryErrors], fmt.Errorf("and %d more clusters", len(errs)-maxRetryErrors))
	}
	return errors.Join(errs...)
}

// applyOne writes one cluster's objects, and notes in the place what there is now.
func (h *handler) applyOne(c change) error {
	if c.create {
		if err := h.askName(c.out.Deployment); err != nil {
			return err
		}
	}
	if err := h.writeCopies(c.place); err != nil {
		return err
	}
	if c.secret {
		if err := h.applySecret(c); err != nil {
			return err
		}
	}
	if c.write {
		written, err := h.writeDeployment(c)
		if err != nil {
			return err
		}
		h.deployments.Created(written)
		before := c.place.deployment
		c.place.deployment = written
		if err := h.dropCopies(before, written); err != nil {
			h.swept.Store(written.Namespace, sweep{failed: true}) // the deployment does not name them any more
			return err
		}
	}
	if c.secret {
		c.place.secret = c.out.Secret
	}
	if c.drop {
		if err := h.dropSecret(c.place.secret); err != nil {
			return err
		}
		c.place.secret = nil
	}
	return nil
}

// applySecret does not overwrite the values of a deployment that is not known: they may be those of a version that runs.
func (h *handler) applySecret(c change) error {
	want := c.out.Secret
	have := c.place.secret
	if !c.create {
		return h.writeSecret(have, want)
	}
	if have == nil {
		written, err := h.Secrets.Create(want)
		if err == nil {
			h.secrets.Created(written)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating Secret %s/%s: %w", want.Namespace, want.Name, err)
		}
	}
	if _, err := h.lookLive(c.out.Deployment); err != nil {
		return err
	}
	have, err := found(h.Secrets.Get(want.Namespace, want.Name, metav1.GetOptions{}))
	if err != nil {
		return fmt.Errorf("reading Secret %s/%s: %w", want.Namespace, want.Name, err)
	}
	return h.writeSecret(have, want)
}

// askName keeps values and copies from being laid where the deployment of that name is known to be another bundle's.
func (h *handler) askName(want *fleet.BundleDeployment) error {
	known, ok := h.deployments.Find(want.Namespace, want.Name)
	if !ok {
		var err error
		if known, err = found(h.Deployments.Cache().Get(want.Namespace, want.Name)); err != nil {
			return fmt.Errorf("reading BundleDeployment %s/%s: %w", want.Namespace, want.Name, err)
		}
	}
	if known == nil {
		return nil
	}
	return nameTaken(known, want)
}

// nameTaken says that a deployment is that of another bundle.
func nameTaken(have, want *fleet.BundleDeployment) error {
	namespace, _ := bundleOf(have)
	if namespace == "" || namespace == want.Labels[fleet.BundleNamespaceLabel] {
		return nil
	}
	return fmt.Errorf("BundleDeployment %s/%s belongs to the bundle of that name in namespace %s: two of one name cannot go to one cluster, rename one of them",
		want.Namespace, want.Name, namespace)
}

// lookLive reads a deployment that is believed not to exist, or to be otherwise; errBehind says that there is one.
func (h *handler) lookLive(want *fleet.BundleDeployment) (*fleet.BundleDeployment, error) {
	live, err := found(h.Deployments.Get(want.Namespace, want.Name, metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("reading BundleDeployment %s/%s: %w", want.Namespace, want.Name, err)
	}
	if live == nil {
		return nil, nil
	}
	if err := nameTaken(live, want); err != nil {
		return nil, err
	}
	h.deployments.Created(live)
	return live, errBehind
}

// writeDeployment creates or updates. That it exists, or was changed meanwhile, is no failure: it is read again, and the
// decision made anew. Where its agent alone has reported meanwhile, the decision holds.
func (h *handler) writeDeployment(c change) (*fleet.BundleDeployment, error) {
	want, seen := c.out.Deployment, c.place.deployment
	for range writeTries {
		var written *fleet.BundleDeployment
		var err error
		if c.create {
			written, err = h.Deployments.Create(want)
		} else {
			written, err = h.Deployments.Update(want)
		}
		if err == nil {
			return written, nil
		}
		if !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
			return nil, fmt.Errorf("writing BundleDeployment %s/%s: %w", want.Namespace, want.Name, err)
		}
		live, look := h.lookLive(want)
		if live == nil && look != nil {
			return nil, look
		}
		if live == nil || seen == nil || live.UID != seen.UID || live.DeletionTimestamp != nil || !deployment.Same(live, seen) {
			return nil, errBehind
		}
		want.ResourceVersion = live.ResourceVersion
	}
	return nil, errBehind
}
