package clusterimport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// claimTries bounds how often a namespace that others write to is looked at again before it is marked.
const claimTries = 3

// site is a place as it was found.
type site struct {
	place place
	// namespace is nil where it does not exist.
	namespace *corev1.Namespace
	mark      mark
	claim     claim
}

// me is this Cluster as the mark on its agent's namespace says it.
func (h *handler) me(c *fleet.Cluster) registration.AgentOwner {
	return registration.AgentOwner{Hub: h.HubUID, Cluster: string(c.UID), Namespace: c.Namespace, Name: c.Name}
}

// visit finds out which cluster the kubeconfig leads to, and whether the agent may be put there. An error is a refusal,
// or a call that failed.
func (h *handler) visit(ctx context.Context, d *kube.Downstream, f facts) (site, error) {
	uid, err := clusterUID(ctx, d)
	if err != nil {
		return site{}, err
	}
	return h.look(ctx, d, f, place{uid, f.options.Namespace})
}

func (h *handler) look(ctx context.Context, d *kube.Downstream, f facts, p place) (site, error) {
	s := site{place: p}
	ns, err := readNamespace(ctx, d, p.namespace)
	if err != nil {
		return s, err
	}
	if ns != nil {
		s.namespace, s.mark = ns, markOf(ns.Annotations)
	}
	me := h.me(f.cluster)
	var holder *fleet.Cluster
	if s.mark.readable && s.mark.owner.Hub == me.Hub && !s.mark.of(me) {
		// Its end would let this Cluster take the agent away from it: that is not for the cache to say.
		holder, err = h.Clusters.Get(s.mark.owner.Namespace, s.mark.owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			holder, err = nil, nil
		}
		if err != nil {
			return s, fmt.Errorf("reading Cluster %s/%s, which has namespace %s of the cluster: %w", s.mark.owner.Namespace, s.mark.owner.Name, p.namespace, err)
		}
	}
	s.claim, err = decideClaim(f, me, p, s.mark, holder)
	return s, err
}

func readNamespace(ctx context.Context, d *kube.Downstream, name string) (*corev1.Namespace, error) {
	ns, err := d.Clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	return ns, nil
}

// occupy marks the agent's namespace, which it makes if need be, as this Cluster's. It is written for the version that
// was looked at, so that of two who want it one gets it. f is what the import has recorded: what was put there by somebody
// else since is not taken.
func (h *handler) occupy(ctx context.Context, d *kube.Downstream, f facts, s site) error {
	value := h.me(f.cluster).Annotation()
	for try := 1; s.claim != mine; try++ {
		err := setMark(ctx, d, s, &value)
		if err == nil {
			return nil
		}
		again := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || s.namespace != nil && apierrors.IsNotFound(err)
		if !again || try == claimTries {
			return fmt.Errorf("marking namespace %s as this Cluster's: %w", s.place.namespace, err)
		}
		if s, err = h.look(ctx, d, f, s.place); err != nil {
			return err
		}
	}
	return nil
}

// setMark writes the mark, or with nil takes it off.
func setMark(ctx context.Context, d *kube.Downstream, s site, value *string) error {
	namespaces := d.Clients.CoreV1().Namespaces()
	if s.namespace == nil {
		_, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: s.place.namespace, Annotations: map[string]string{names.AgentOwnerAnnotation: *value},
		}}, metav1.CreateOptions{})
		return err
	}
	if s.namespace.DeletionTimestamp != nil && value != nil {
		return errors.New("it is being deleted; the hub tries again until it is gone")
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": s.namespace.ResourceVersion,
		"annotations":     map[string]any{names.AgentOwnerAnnotation: value},
	}})
	if err != nil {
		return err
	}
	// A patch, since a newer server may keep fields in a Namespace that this program does not know.
	_, err = namespaces.Patch(ctx, s.namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// stillMine is asked before the agent is set going: while its objects were applied, this Cluster may have lost the place.
func (h *handler) stillMine(ctx context.Context, d *kube.Downstream, f facts, p place) error {
	s, err := h.look(ctx, d, f, p)
	if err == nil && s.claim != mine {
		err = fmt.Errorf("the mark of namespace %s was taken off, or given up, while the agent was put there", p.namespace)
	}
	return err
}
