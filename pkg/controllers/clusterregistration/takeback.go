package clusterregistration

import (
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/relatedresource"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
)

// afterDeletion takes back what a request had. That it is gone is read live: after a start this cache may be behind the one
// whose object brought the key here, and to take a grant back cuts an agent off for good.
func (h *handler) afterDeletion(key relatedresource.Key) error {
	_, err := h.Registrations.Get(key.Namespace, key.Name, metav1.GetOptions{})
	if err == nil {
		return nil // its own event comes
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("registration %s/%s: %w", key.Namespace, key.Name, err)
	}
	return h.takeBack(key.Namespace, key.Name)
}

// takeBack removes all that a request was given: bindings first, then the account, then the credential.
func (h *handler) takeBack(namespace, name string) error {
	if err := h.reports.Remove(h.ctx, registrationKind, namespace, name); err != nil {
		return fmt.Errorf("taking back the reporting of %s/%s: %w", namespace, name, err)
	}
	if err := h.grants.Remove(h.ctx, registrationKind, namespace, name); err != nil {
		return fmt.Errorf("taking back the grant of %s/%s: %w", namespace, name, err)
	}
	return h.minter.discardByOwner(namespace, name)
}

// takeBackAll removes all that a request was given, and makes sure that its account is gone: that one is the credential.
func (h *handler) takeBackAll(r *fleet.ClusterRegistration) error {
	if err := h.takeBack(r.Namespace, r.Name); err != nil {
		return err
	}
	if !r.Status.Granted && len(r.Status.Credentials) == 0 {
		return nil // it never had one
	}
	live, err := h.liveAccount(r)
	if err != nil || live == nil {
		return err
	}
	if live.DeletionTimestamp == nil {
		if err := kube.Deleted(h.Accounts.Delete(live.Namespace, live.Name, kube.ByUID(live.UID))); err != nil {
			return fmt.Errorf("deleting account %s/%s: %w", live.Namespace, live.Name, err)
		}
		if live, err = h.liveAccount(r); err != nil || live == nil {
			return err
		}
	}
	if len(live.Finalizers) > 0 {
		live.Finalizers = nil
		if _, err := h.Accounts.Update(live); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("taking the finalizers off account %s/%s: %w", live.Namespace, live.Name, err)
		}
	}
	if live, err = h.liveAccount(r); err == nil && live != nil {
		err = fmt.Errorf("account %s/%s is still there after it was deleted", live.Namespace, live.Name)
	}
	return err
}

// liveAccount is the account of a request as the API server has it, nil where there is none. A cache may not show one that
// was made a moment ago, nor one that is only being deleted: somebody may have put a finalizer on it, and its token is good
// for another minute.
func (h *handler) liveAccount(r *fleet.ClusterRegistration) (*corev1.ServiceAccount, error) {
	name := account(r)
	live, err := found(h.Accounts.Get(h.Names.Agents, name, metav1.GetOptions{}))
	if err != nil {
		return nil, fmt.Errorf("reading account %s/%s: %w", h.Names.Agents, name, err)
	}
	if live == nil || live.Annotations[names.OwnerAnnotation] != owner(r) {
		return nil, nil
	}
	return live, nil
}

// forget deletes a request of which nothing can come any more: its Cluster is gone, which was read live, or was readmitted.
func (h *handler) forget(r *fleet.ClusterRegistration) error {
	if err := kube.Deleted(h.Registrations.Delete(r.Namespace, r.Name, kube.ByUID(r.UID))); err != nil {
		return fmt.Errorf("deleting a request of which nothing can come any more: %w", err)
	}
	return nil
}

// withdraw is for a credential that nobody can fetch any more: the import account that it waited for has ended. That is
// read live before anything is taken away.
func (h *handler) withdraw(in input, d decision) error {
	gone, err := h.importAccountGone(in)
	if err != nil || !gone {
		return err // the event of what the cache has yet to see brings the request back
	}
	if err := h.minter.discard(in.request); err != nil {
		return err
	}
	return h.report(in, d, nil)
}

func (h *handler) importAccountGone(in input) (bool, error) {
	token := in.token
	if token == nil {
		name := in.request.Labels[names.RegistrationTokenLabel]
		if name == "" {
			return true, nil
		}
		live, err := found(h.Tokens.Get(in.request.Namespace, name, metav1.GetOptions{}))
		if err != nil {
			return false, fmt.Errorf("reading registration token %s: %w", name, err)
		}
		if live == nil || live.DeletionTimestamp != nil {
			return true, nil
		}
		token = live
	}
	name := names.Account(token.Name, string(token.UID))
	live, err := found(h.Accounts.Get(h.Names.Registration, name, metav1.GetOptions{}))
	if err != nil {
		return false, fmt.Errorf("reading import account %s: %w", name, err)
	}
	return live == nil, nil
}
