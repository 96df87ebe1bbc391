package heartbeat

import (
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
	if v.record == nil || v.contact != connected || e.cluster.Spec.Revoked {
		return nil
	}
	secret, err := h.Secrets.Cache().Get(e.cluster.Status.Namespace, names.RenewedCredentialSecret)
	if apierrors.IsNotFound(err) {
		secret, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("reading the renewed credential: %w", err)
	}
	due := !v.renewal.IsZero() && !e.now.Before(v.renewal) && v.problem == ""
	switch {
	case secret != nil && secret.Annotations[names.CredentialDigestAnnotation] == v.record.Digest:
		err := h.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the renewed credential that is now in use: %w", err)
		}
		return nil
	case due && secret != nil:
		return h.noteRenewed(v, secret)
	case due:
		return h.renew(e, v)
	}
	return nil
}

// noteRenewed makes sure that the request knows the credential that lies ready: the hub may have ended between the two
// writes.
func (h *handler) noteRenewed(v verdict, secret *corev1.Secret) error {
	record, ok := registration.RecordOf(secret.Annotations)
	if !ok {
		return fmt.Errorf("secret %s/%s carries no record of its credential; delete it to have a new one made", secret.Namespace, secret.Name)
	}
	return h.remember(v.request, record)
}

func (h *handler) remember(r *fleet.ClusterRegistration, record fleet.CredentialRecord) error {
	_, err := kube.UpdateStatus(h.Registrations, r.Namespace, r.Name, kube.ClusterRegistrationStatus,
		func(status *fleet.ClusterRegistrationStatus) {
			status.Credentials = registration.Remember(status.Credentials, record)
		})
	return err
}

func (h *handler) renew(e evidence, v verdict) error {
	account := names.Account(v.request.Name, string(v.request.UID))
	minted, err := kube.Mint(h.ctx, h.Clients, h.Names.Agents, account, registration.Lifetime(e.cluster, h.Config.Get()))
	if err != nil {
		return err
	}
	record, err := registration.NewRecord(minted.Token, e.now, minted.Expires)
	if err != nil {
		return fmt.Errorf("reading the token that the API server gave: %w", err)
	}
	secret := renewedSecret(e.cluster, v.request, minted.Token, record)
	if _, err := h.Secrets.Create(secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("writing the renewed credential: %w", err)
	} else if err != nil {
		return nil // the cache has not seen it yet; its event brings the Lease back
	}
	return h.remember(v.request, record)
}

func renewedSecret(cluster *fleet.Cluster, r *fleet.ClusterRegistration, token string, record fleet.CredentialRecord) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Status.Namespace,
			Name:      names.RenewedCredentialSecret,
			Labels:    map[string]string{names.ManagedLabel: "true"},
			Annotations: map[string]string{
				names.OwnerAnnotation: names.OwnerRef{
					Kind: registrationKind, Namespace: r.Namespace, Name: r.Name, UID: string(r.UID),
				}.String(),
			},
		},
		Type: names.CredentialSecretType,
		Data: map[string][]byte{registration.KeyToken: []byte(token)},
	}
	registration.Annotate(secret.Annotations, record)
	return secret
}
