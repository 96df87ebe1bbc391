package heartbeat

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// keepCredential renews a credential that is due, and takes the secret with the renewed one away once it is in use.
func (h *handler) keepCredential(e evidence, v verdict) error {
	record, secret := v.use.record, e.renewed
	if record == nil || !v.use.shown || v.contact != connected || e.cluster.Spec.Revoked {
		return nil
	}
	due := !v.renewal.IsZero() && !e.now.Before(v.renewal) && v.problem == ""
	switch {
	case secret != nil && secret.Annotations[names.CredentialDigestAnnotation] == record.Digest:
		return h.discard(secret)
	case !due:
		return nil
	case secret == nil:
		return h.renew(e, v)
	}
	next, ok := registration.RecordOf(secret.Annotations)
	if !ok || secret.Type != names.CredentialSecretType {
		return fmt.Errorf("secret %s/%s carries no record of its credential; delete it to have a new one made", secret.Namespace, secret.Name)
	}
	if !good(next, secret, e, v) {
		return h.discard(secret) // the next heartbeat has another made
	}
	// The hub may have ended between the two writes.
	return h.remember(v.use.request, next)
}

// good says whether the credential that lies ready is one that this agent can use.
func good(record fleet.CredentialRecord, secret *corev1.Secret, e evidence, v verdict) bool {
	uid, lives := e.accounts[v.use.request.Name]
	return secret.Annotations[names.OwnerAnnotation] == ownerOf(v.use.request) &&
		(!lives || uid == record.AccountUID) && (record.Expires == nil || e.now.Before(record.Expires.Time))
}

func (h *handler) discard(secret *corev1.Secret) error {
	if err := kube.Deleted(h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))); err != nil {
		return fmt.Errorf("deleting the renewed credential %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

func (h *handler) remember(r *fleet.ClusterRegistration, record fleet.CredentialRecord) error {
	_, err := kube.UpdateStatus(h.Registrations, r.Namespace, r.Name, kube.ClusterRegistrationStatus,
		func(status *fleet.ClusterRegistrationStatus) {
			status.Credentials = registration.Remember(status.Credentials, record)
		})
	return err
}

func (h *handler) renew(e evidence, v verdict) error {
	account := names.Account(v.use.request.Name, string(v.use.request.UID))
	minted, err := kube.Issuer{Clients: h.Clients, Secrets: h.Secrets}.Issue(h.ctx, kube.CredentialOrder{
		Namespace: h.Names.Agents, Account: account, Owner: ownerOf(v.use.request), Now: e.now,
		Life: registration.Lifetime(e.cluster, h.Config.Get()), AtLeast: registration.LeastLife(e.cluster, h.Config.Get()),
	})
	if errors.Is(err, kube.ErrTokenPending) {
		return nil // the next heartbeat comes back to it
	}
	if err != nil {
		return err
	}
	record, err := registration.NewRecord(minted.Token, e.now, minted.Expires)
	if err != nil {
		return fmt.Errorf("reading the token that the API server gave: %w", err)
	}
	secret := renewedSecret(e.cluster, v.use.request, minted.Token, record)
	if _, err := h.Secrets.Create(secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing the renewed credential: %w", err)
	} else if err != nil {
		return nil // the cache has not seen it yet; the next heartbeat comes back to it
	}
	return h.remember(v.use.request, record)
}

func renewedSecret(cluster *fleet.Cluster, r *fleet.ClusterRegistration, token string, record fleet.CredentialRecord) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   cluster.Status.Namespace,
			Name:        names.RenewedCredentialSecret,
			Labels:      map[string]string{names.ManagedLabel: "true"},
			Annotations: map[string]string{names.OwnerAnnotation: ownerOf(r)},
		},
		Type: names.CredentialSecretType,
		Data: map[string][]byte{registration.KeyToken: []byte(token)},
	}
	registration.Annotate(secret.Annotations, record)
	return secret
}
