package register

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/agent/internal/apitest"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

func testStore(t *testing.T) (*world, *store) {
	w := newWorld(t)
	return w, &store{client: w.client, namespace: agentNamespace}
}

func (w *world) writes() int { return len(w.Calls(apitest.Call.Writes)) }

func TestWhatIsStoredAlreadyIsNotWrittenAgain(t *testing.T) {
	w, s := testStore(t)
	ctx := context.Background()
	data := map[string][]byte{registration.KeyClusterName: []byte("edge")}
	require.NoError(t, s.saveCredential(ctx, data))
	require.NoError(t, s.saveCredential(ctx, data))
	assert.Equal(t, 1, w.writes())
	data[registration.KeyClusterName] = []byte("other")
	require.NoError(t, s.saveCredential(ctx, data))
	assert.Equal(t, 2, w.writes())
	assert.Equal(t, data, w.secret(names.AgentCredentialStore).Data)
}

func TestAnotherWriterIsNoFailure(t *testing.T) {
	w, s := testStore(t)
	var once sync.Once
	w.Guard("race", func(c apitest.Call) int {
		if c.Writes() {
			once.Do(func() { w.putSecret(names.AgentCredentialStore, map[string][]byte{"foreign": []byte("x")}) })
		}
		return 0
	})
	data := map[string][]byte{registration.KeyClusterName: []byte("edge")}
	require.NoError(t, s.saveCredential(context.Background(), data))
	assert.Equal(t, data, w.secret(names.AgentCredentialStore).Data)
}

func TestTheKeyIsMadeOnceByWhoeverComesFirst(t *testing.T) {
	_, s := testStore(t)
	var all sync.WaitGroup
	keys := make([]string, 8)
	for i := range keys {
		all.Go(func() {
			id, _, err := s.identity(context.Background())
			assert.NoError(t, err)
			keys[i] = id.PublicKey()
		})
	}
	all.Wait()
	for _, key := range keys {
		assert.Equal(t, keys[0], key)
	}
}

func TestARequestIsWrittenDownBesideTheKeyAndForgotten(t *testing.T) {
	w, s := testStore(t)
	ctx := context.Background()
	id, begun, err := s.identity(ctx)
	require.NoError(t, err)
	assert.Equal(t, attempt{}, begun)
	a := attempt{Request: "request-x", ClientRandom: "random", Order: "digest"}
	require.NoError(t, s.begin(ctx, a))
	again, begun, err := s.identity(ctx)
	require.NoError(t, err)
	assert.Equal(t, a, begun)
	assert.Equal(t, id, again)
	require.NoError(t, s.begin(ctx, attempt{}))
	assert.Len(t, w.secret(names.AgentIdentitySecret).Data, 1)
}

func TestAFailureNamesTheSecret(t *testing.T) {
	w, s := testStore(t)
	w.Guard("broken", func(apitest.Call) int { return http.StatusForbidden })
	_, _, err := s.identity(context.Background())
	assert.ErrorContains(t, err, agentNamespace+"/"+names.AgentIdentitySecret)
	_, err = s.look(context.Background())
	assert.ErrorContains(t, err, agentNamespace+"/"+names.AgentBootstrapSecret)
}
