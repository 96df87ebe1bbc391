package clusterregistration

import (
	"testing"

	core "github.com/rancher/wrangler/v3/pkg/generated/controllers/core/v1"
	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// B08: what was written is forgotten once the cache shows it, which it may do while the handler looks.
func TestACredentialThatTheCacheShowsWhileItIsLookedForIsTheSameOne(t *testing.T) {
	h := joining(t)
	h.secrets.Lag = true
	require.NoError(t, h.look(t, "request-1"))
	h.writes()
	h.minter.Secrets = &catchesUp{SecretController: h.minter.Secrets, after: func() {
		h.secrets.Sync()
		h.minter.recent.Seen(h.credential())
	}}

	require.NoError(t, h.look(t, "request-1"))

	assert.Len(t, h.minted, 1)
	assert.Empty(t, h.writes())
}

// catchesUp is a cache that shows what it lacked right after it was asked for the first time.
type catchesUp struct {
	core.SecretController
	after func()
}

func (c *catchesUp) Cache() generic.CacheInterface[*corev1.Secret] {
	return catchingUp{c.SecretController.Cache(), c}
}

type catchingUp struct {
	core.SecretCache
	of *catchesUp
}

func (c catchingUp) Get(namespace, name string) (*corev1.Secret, error) {
	secret, err := c.SecretCache.Get(namespace, name)
	if after := c.of.after; after != nil {
		c.of.after = nil
		after()
	}
	return secret, err
}
