package clusterimport

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

var (
	// errAnothers ends a removal: the namespace is another's meanwhile.
	errAnothers = errors.New("the namespace is another's")
	// errStirred has a removal begin anew: the mark is not what it was, and is nobody else's.
	errStirred = errors.New("its mark was changed while the agent was removed")
)

// vacate removes the agent from a namespace, and then the mark. A namespace that is another's meanwhile is left alone.
func (h *handler) vacate(ctx context.Context, d *kube.Downstream, f facts, namespace string) (left bool, err error) {
	for try := 1; ; try++ {
		err := removal{d, h.me(f.cluster), namespace}.run(ctx)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, errAnothers):
			return false, nil
		case try == claimTries, !errors.Is(err, errStirred) && !apierrors.IsConflict(err):
			return false, fmt.Errorf("leaving namespace %s: %w", namespace, err)
		}
	}
}

// removal is the way of an agent out of a namespace. Others may want the namespace at the same time: a first import takes
// it over, and so does a later one while the mark says that its owner is leaving. The mark is looked at before each step,
// so that what a new owner puts there is spared but for the one call that is under way.
type removal struct {
	d         *kube.Downstream
	me        registration.AgentOwner
	namespace string
}

func (r removal) run(ctx context.Context) error {
	s, err := r.look(ctx)
	if err != nil {
		return err
	}
	expected, err := r.announce(ctx, s)
	if err != nil {
		return err
	}
	still := func() (err error) {
		s, err = r.confirm(ctx, expected)
		return err
	}
	if err := deleteAgent(ctx, r.d, r.namespace, still); err != nil {
		return err
	}
	if err := still(); err != nil || !s.mark.found {
		return err
	}
	if err := setMark(ctx, r.d, s, nil); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("taking the mark off: %w", err)
	}
	return nil
}

// look reads the mark, which has to be ours or none.
func (r removal) look(ctx context.Context) (site, error) {
	s := site{place: place{namespace: r.namespace}}
	var err error
	if s.namespace, err = readNamespace(ctx, r.d, r.namespace); err != nil {
		return s, err
	}
	if s.namespace != nil {
		s.mark = markOf(s.namespace.Annotations)
	}
	if s.mark.found && !s.mark.of(r.me) {
		return s, errAnothers
	}
	return s, nil
}

// announce has a mark of ours say that its owner is leaving, for the version that was looked at. It returns the digest of
// the mark that is to stand there from now on. Nobody gets a namespace that has an end already, and one without a mark
// needs none to be left.
func (r removal) announce(ctx context.Context, s site) (string, error) {
	if !s.mark.found || s.mark.owner.Leaving || s.namespace.DeletionTimestamp != nil {
		return s.mark.digest, nil
	}
	leaving := r.me
	leaving.Leaving = true
	value := leaving.Annotation()
	err := setMark(ctx, r.d, s, &value)
	if apierrors.IsNotFound(err) {
		return "", errStirred
	}
	if err != nil {
		return "", fmt.Errorf("marking that the agent leaves: %w", err)
	}
	return digest([]byte(value)), nil
}

// confirm says whether the mark still is what it was. One of ours without the note is of an import that came after this
// removal was decided, such as that of the process that leads now.
func (r removal) confirm(ctx context.Context, expected string) (site, error) {
	s, err := r.look(ctx)
	switch {
	case err != nil || s.mark.digest == expected:
		return s, err
	case s.mark.found && !s.mark.owner.Leaving:
		return s, errors.New("an import of this Cluster has taken it anew while the agent was removed")
	}
	return s, errStirred
}
