package register

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// attempt is a request as it was written down before it was sent.
type attempt struct {
	Request, ClientRandom string
	// Order is the digest of what it was begun for.
	Order string
}

// errIdentity says that the stored key is damaged. It is never replaced on our own: the hub knows the cluster by it.
var errIdentity = errors.New("the agent's key cannot be used")

// identity reads the agent's key and the request under way; the first time it makes the key.
func (s *store) identity(ctx context.Context) (registration.Identity, attempt, error) {
	var id registration.Identity
	var begun attempt
	var damage error
	err := s.write(ctx, names.AgentIdentitySecret, func(secret *corev1.Secret) bool {
		begun = attemptOf(secret.Data)
		if private := secret.Data[registration.KeyPrivateKey]; len(private) > 0 {
			id, damage = registration.IdentityFrom(private)
			return false
		}
		if id, damage = registration.NewIdentity(); damage != nil {
			return false
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[registration.KeyPrivateKey] = id.Private()
		return true
	})
	if err != nil {
		return registration.Identity{}, attempt{}, err
	}
	if damage != nil {
		return registration.Identity{}, begun, s.damaged(damage)
	}
	return id, begun, nil
}

// knownIdentity reads the agent's key, if one was made.
func (s *store) knownIdentity(ctx context.Context) (id registration.Identity, known bool, err error) {
	secret, err := s.secret(ctx, names.AgentIdentitySecret)
	if err != nil || secret == nil || len(secret.Data[registration.KeyPrivateKey]) == 0 {
		return registration.Identity{}, false, err
	}
	if id, err = registration.IdentityFrom(secret.Data[registration.KeyPrivateKey]); err != nil {
		return registration.Identity{}, false, s.damaged(err)
	}
	return id, true, nil
}

func (s *store) damaged(why error) error {
	return fmt.Errorf(
		"Secret %s/%s, key %q: %w: restore it, or delete the Secret to make a new key, which the hub may have to approve: %w",
		s.namespace, names.AgentIdentitySecret, registration.KeyPrivateKey, errIdentity, why)
}

// begin writes down which request is under way; the zero value says that none is.
func (s *store) begin(ctx context.Context, a attempt) error {
	return s.write(ctx, names.AgentIdentitySecret, func(secret *corev1.Secret) bool {
		if attemptOf(secret.Data) == a {
			return false
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range map[string]string{
			registration.KeyRequest:         a.Request,
			registration.KeyClientRandom:    a.ClientRandom,
			registration.KeyBootstrapDigest: a.Order,
		} {
			if value == "" {
				delete(secret.Data, key)
			} else {
				secret.Data[key] = []byte(value)
			}
		}
		return true
	})
}

func attemptOf(data map[string][]byte) attempt {
	return attempt{
		Request:      string(data[registration.KeyRequest]),
		ClientRandom: string(data[registration.KeyClientRandom]),
		Order:        string(data[registration.KeyBootstrapDigest]),
	}
}

// isDamaged says that the stored key cannot be used, as opposed to a cluster that did not answer.
func isDamaged(err error) bool { return errors.Is(err, errIdentity) }
