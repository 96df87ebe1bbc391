package clusterregistration

import (
	"context"
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

// errForeignCredential says that the credential secret of a request's name is another request's.
var errForeignCredential = errors.New("the credential secret belongs to another request")

// minter makes the credential of a grant. It is the one step of a grant that is no desired state: a token cannot be read
// again, so that what was minted is written down in the secret that carries it.
type minter struct {
	Deps
	hubUID string
	recent *kube.Recent[*corev1.Secret]
}

func newMinter(deps Deps) *minter {
	return &minter{Deps: deps, hubUID: deps.HubUID, recent: kube.NewRecent[*corev1.Secret]()}
}

// ensure returns the record of the credential that lies ready for the agent, and makes that credential where it is
// missing, no longer good for the account that lives, or not to be read by the account that asks.
func (m *minter) ensure(ctx context.Context, in input, cluster *fleet.Cluster) (fleet.CredentialRecord, error) {
	r := in.request
	name := names.CredentialSecret(r.Spec.ClientID, r.Spec.ClientRandom)
	existing, err := m.read(name)
	if err != nil {
		return fleet.CredentialRecord{}, err
	}
	if existing != nil {
		ours := existing.Annotations[names.OwnerAnnotation] == owner(r)
		if !ours && !ofPredecessor(existing, r) {
			return fleet.CredentialRecord{}, fmt.Errorf("secret %s/%s: %w", in.namespaces.Registration, name, errForeignCredential)
		}
		record, ok := registration.RecordOf(existing.Annotations)
		reaches := existing.Annotations[names.ImportAccountAnnotation] == importAccountOf(in)
		if ours && ok && reaches && m.accountLives(in.namespaces.Agents, account(r), record.AccountUID) {
			return record, nil
		}
	}
	secret, record, err := m.mint(ctx, in, cluster, name)
	if err != nil {
		return fleet.CredentialRecord{}, err
	}
	return m.write(existing, secret, record)
}

// ofPredecessor says that a secret was left by a request that is gone: this one has its name now.
func ofPredecessor(secret *corev1.Secret, r *fleet.ClusterRegistration) bool {
	owner, ok := names.ParseOwnerRef(secret.Annotations[names.OwnerAnnotation])
	return ok && owner.Kind == registrationKind.Kind && owner.Namespace == r.Namespace && owner.Name == r.Name
}

// read finds a credential secret, as the cache shows it or, where that is behind, as it was written. What was written is
// forgotten once the cache shows it, which may happen meanwhile: so the cache is asked last.
func (m *minter) read(name string) (*corev1.Secret, error) {
	written, _ := m.recent.Find(m.Names.Registration, name)
	secret, err := m.Secrets.Cache().Get(m.Names.Registration, name)
	if apierrors.IsNotFound(err) || err == nil && m.recent.IsBehind(secret) {
		return written, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading secret %s/%s: %w", m.Names.Registration, name, err)
	}
	return secret, nil
}

// accountLives says whether the account with that UID is there, as far as the cache knows. The cache may not have seen an
// account that was just made; its token is then still good.
func (m *minter) accountLives(namespace, name, uid string) bool {
	sa, err := m.Accounts.Cache().Get(namespace, name)
	return err != nil || string(sa.UID) == uid
}

func (m *minter) mint(ctx context.Context, in input, cluster *fleet.Cluster, name string) (*corev1.Secret, fleet.CredentialRecord, error) {
	r := in.request
	minted, err := kube.Issuer{Clients: m.Clients, Secrets: m.Secrets}.Issue(ctx, kube.CredentialOrder{
		Namespace: in.namespaces.Agents, Account: account(r), Owner: owner(r), Now: m.Clock.Now(),
		Life: registration.Lifetime(cluster, in.config), AtLeast: registration.LeastLife(cluster, in.config),
	})
	if err != nil {
		return nil, fleet.CredentialRecord{}, err
	}
	record, err := registration.NewRecord(minted.Token, m.Clock.Now(), minted.Expires)
	if err != nil {
		return nil, fleet.CredentialRecord{}, fmt.Errorf("reading the token that the API server gave: %w", err)
	}
	credential := registration.Credential{
		Token:               minted.Token,
		DeploymentNamespace: cluster.Status.Namespace,
		ClusterNamespace:    cluster.Namespace,
		ClusterName:         cluster.Name,
		SystemNamespace:     in.namespaces.System,
	}
	if id := r.Spec.Identity; id != nil && id.PublicKey != "" {
		credential.HubUID = m.hubUID
		credential.SealedToken, err = registration.Seal(binding(in, m.hubUID), minted.Token)
		if err != nil {
			return nil, fleet.CredentialRecord{}, fmt.Errorf("sealing the credential: %w", err)
		}
		credential.Token = ""
	}
	return credentialSecret(in, cluster, name, credential, record), record, nil
}

func binding(in input, hubUID string) registration.Binding {
	r := in.request
	return registration.Binding{
		HubUID:           hubUID,
		Workspace:        r.Namespace,
		Request:          r.Name,
		ClientID:         r.Spec.ClientID,
		ClientRandom:     r.Spec.ClientRandom,
		ClusterUID:       r.Spec.Identity.ClusterUID,
		PublicKey:        r.Spec.Identity.PublicKey,
		ImportAccountUID: in.importAccountUID,
	}
}

func credentialSecret(in input, cluster *fleet.Cluster, name string, credential registration.Credential, record fleet.CredentialRecord) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: grantMeta(in.request, cluster, in.namespaces.Registration, name),
		Type:       names.CredentialSecretType,
		Data:       credential.Data(),
	}
	secret.Labels[names.ClusterLabel] = names.LabelValue(cluster.Name)
	secret.Annotations[names.ImportAccountAnnotation] = importAccountOf(in) // who may read it
	registration.Annotate(secret.Annotations, record)
	return secret
}

// write creates the secret, or replaces one of ours whose token is dead or that a predecessor left, and returns the record of what then lies there.
// One that another request took the name for is never touched.
func (m *minter) write(existing, secret *corev1.Secret, record fleet.CredentialRecord) (fleet.CredentialRecord, error) {
	var err error
	var written *corev1.Secret
	if existing == nil {
		written, err = m.Secrets.Create(secret)
	} else {
		secret.ResourceVersion, secret.UID = existing.ResourceVersion, existing.UID
		written, err = m.Secrets.Update(secret)
	}
	if apierrors.IsAlreadyExists(err) {
		return m.alreadyThere(secret)
	}
	if err != nil {
		return fleet.CredentialRecord{}, fmt.Errorf("writing secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	m.recent.Created(written)
	return record, nil
}

// alreadyThere is for a secret that the cache has not seen yet: ours from a moment ago, or another's.
func (m *minter) alreadyThere(secret *corev1.Secret) (fleet.CredentialRecord, error) {
	live, err := m.Secrets.Get(secret.Namespace, secret.Name, metav1.GetOptions{})
	if err != nil {
		return fleet.CredentialRecord{}, fmt.Errorf("reading secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	record, ok := registration.RecordOf(live.Annotations)
	if !ok || live.Annotations[names.OwnerAnnotation] != secret.Annotations[names.OwnerAnnotation] {
		return fleet.CredentialRecord{}, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, errForeignCredential)
	}
	return record, nil
}

// discard deletes the credential secret of a request, if it is that request's.
func (m *minter) discard(r *fleet.ClusterRegistration) error {
	name := names.CredentialSecret(r.Spec.ClientID, r.Spec.ClientRandom)
	secret, err := m.read(name)
	if err != nil || secret == nil || secret.Annotations[names.OwnerAnnotation] != owner(r) {
		return err
	}
	return m.delete(secret)
}

// discardByOwner deletes the credential secrets of a request that is gone.
func (m *minter) discardByOwner(namespace, name string) error {
	secrets, err := m.Secrets.Cache().GetByIndex(secretsByRequest, namespace+"/"+name)
	if err != nil {
		return fmt.Errorf("listing credential secrets of %s/%s: %w", namespace, name, err)
	}
	for _, secret := range secrets {
		if err := m.delete(secret); err != nil {
			return err
		}
	}
	return nil
}

func (m *minter) delete(secret *corev1.Secret) error {
	if m.recent.IsDeleted(secret) {
		return nil
	}
	if err := kube.Deleted(m.Secrets.Delete(secret.Namespace, secret.Name, kube.ByUID(secret.UID))); err != nil {
		return fmt.Errorf("deleting secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	m.recent.Deleted(secret.UID)
	return nil
}
