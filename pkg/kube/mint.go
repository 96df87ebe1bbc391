package kube

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// MinLifetime is the shortest life that the API server grants a token.
const MinLifetime = 10 * time.Minute

// maxLifetime is the longest life that a token request can ask for: 2^32 seconds.
const maxLifetime = (1 << 32) * time.Second

// Minted is a new token of a service account.
type Minted struct {
	Token string
	// Expires is when the token ends as the server granted it, which may be earlier than what was asked for.
	Expires time.Time
}

// Mint asks for a token of a service account. A life outside the API server's bounds is moved to the nearest bound.
// No controller takes part and nothing is stored: it costs one request.
func Mint(ctx context.Context, clients kubernetes.Interface, namespace, account string, life time.Duration) (Minted, error) {
	seconds := int64(min(max(life, MinLifetime), maxLifetime) / time.Second)
	reply, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return Minted{}, fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, account, err)
	}
	return Minted{Token: reply.Status.Token, Expires: reply.Status.ExpirationTimestamp.Time}, nil
}
