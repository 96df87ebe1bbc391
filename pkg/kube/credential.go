package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/fleet/pkg/names"
)

// ErrTokenPending says that the API server's controllers have not filled the Secret of a token yet. The event of that
// Secret tells when they have.
var ErrTokenPending = errors.New("the API server's controllers have not made the token yet")

// shortfall is by how much a granted life may miss what was asked for without being shorter: the way of the answer, and
// clocks that differ.
const shortfall = time.Minute

// Issuer makes the credentials of agents.
type Issuer struct {
	Clients kubernetes.Interface
	Secrets core.SecretController
}

// CredentialOrder is a credential that is to be made.
type CredentialOrder struct {
	Namespace, Account string
	// Owner is the value of the owner annotation of such a Secret.
	Owner string
	// Life is what is asked for.
	Life time.Duration
	// AtLeast is the shortest life that will do. Where the server grants less than that and less than was asked for, a
	// token without an end is made instead. Zero takes what is granted.
	AtLeast time.Duration
	Now     time.Time
}

// Issue makes a credential for an account. Its Expires is zero where it has no end. While a token without an end is being
// made the error is ErrTokenPending.
func (i Issuer) Issue(ctx context.Context, o CredentialOrder) (Minted, error) {
	if o.AtLeast > 0 {
		if minted, found, err := i.endless(o); found || err != nil {
			return minted, err
		}
	}
	minted, err := Mint(ctx, i.Clients, o.Namespace, o.Account, o.Life)
	if err != nil || minted.Expires.Sub(o.Now)+shortfall >= min(o.AtLeast, o.Life) {
		return minted, err
	}
	return Minted{}, i.orderEndless(o)
}

// endless is the token without an end that an account has already.
func (i Issuer) endless(o CredentialOrder) (minted Minted, found bool, err error) {
	name := names.AccountToken(o.Account)
	secret, err := i.Secrets.Cache().Get(o.Namespace, name)
	if apierrors.IsNotFound(err) {
		return Minted{}, false, nil
	}
	if err != nil {
		return Minted{}, false, fmt.Errorf("reading secret %s/%s: %w", o.Namespace, name, err)
	}
	if secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != o.Account {
		return Minted{}, false, fmt.Errorf("secret %s/%s exists and holds no token of account %s: delete it", o.Namespace, name, o.Account)
	}
	token := secret.Data[corev1.ServiceAccountTokenKey]
	if len(token) == 0 {
		return Minted{}, false, fmt.Errorf("secret %s/%s: %w", o.Namespace, name, ErrTokenPending)
	}
	return Minted{Token: string(token)}, true, nil
}

// orderEndless has a token without an end made. The API server's controllers delete its Secret with the account.
func (i Issuer) orderEndless(o CredentialOrder) error {
	name := names.AccountToken(o.Account)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   o.Namespace,
			Name:        name,
			Labels:      map[string]string{names.ManagedLabel: "true"},
			Annotations: map[string]string{corev1.ServiceAccountNameKey: o.Account, names.OwnerAnnotation: o.Owner},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	if _, err := i.Secrets.Create(secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating secret %s/%s: %w", o.Namespace, name, err)
	}
	return fmt.Errorf("secret %s/%s: %w", o.Namespace, name, ErrTokenPending)
}
