package clusterregistrationtoken

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

// After a watch that broke, the cache shows Secrets that are gone and whose names others have by now. That what had to go
// is gone already is no failure, and what has its name is not touched.
func TestASecretThatWentBeforeIsNoFailure(t *testing.T) {
	endless := names.AccountToken("t-t-uid")
	for name, test := range map[string]struct {
		ttl             time.Duration
		namespace, name string
		// before prepares what the cache goes on to show.
		before func(t *testing.T, w *world)
	}{
		"the service-account-token Secret of an earlier account": {0, hub.Registration, endless, func(t *testing.T, w *world) {
			w.accounts.Remove(hub.Registration, "t-t-uid")
			require.NoError(t, w.pass("t"), "the account is made anew")
		}},
		"the one of a token that has an end now": {time.Hour, hub.Registration, endless, func(_ *testing.T, w *world) {
			ends := token("t", time.Hour)
			w.tokens.Add(ends)
		}},
		"the values of an earlier token that had no end": {0, "fleet-default", "t", replaceToken(0)},
		"the values of an earlier token":                 {time.Hour, "fleet-default", "t", replaceToken(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withURL)
			w.tokens.Add(token("t", 0))
			require.NoError(t, w.pass("t"))
			w.fillFor(t, endless)
			require.NoError(t, w.pass("t"))
			w.secrets.Lag = true
			test.before(t, w)
			old := w.secrets.Live(test.namespace, test.name)
			require.NotNil(t, old)
			require.NoError(t, w.pass("t"))
			first := w.secrets.Live(test.namespace, test.name)
			if first == nil { // somebody has the name again
				first = old.DeepCopy()
				first.UID = "another"
				w.secrets.Add(first)
			}
			require.NotEqual(t, old.UID, first.UID, "it had to go")
			w.writes()
			minted := w.minted

			require.NoError(t, w.pass("t"), "the cache still shows the one that is gone")

			assert.Equal(t, first.UID, w.secrets.Live(test.namespace, test.name).UID)
			assert.Contains(t, w.writes(), "delete "+test.namespace+"/"+test.name)
			assert.Zero(t, w.minted-minted, "nothing is minted because of it")
		})
	}
}

// replaceToken has the token made anew under its name.
func replaceToken(ttl time.Duration) func(*testing.T, *world) {
	return func(_ *testing.T, w *world) {
		w.tokens.Remove("fleet-default", "t")
		again := token("t", ttl)
		again.UID = "uid-of-the-second"
		w.tokens.Add(again)
	}
}

// fillFor does what kube-controller-manager does.
func (w *world) fillFor(t *testing.T, name string) {
	t.Helper()
	secret := w.secrets.Live(hub.Registration, name)
	require.NotNil(t, secret)
	account := w.accounts.Live(hub.Registration, secret.Annotations[corev1.ServiceAccountNameKey])
	require.NotNil(t, account)
	secret.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("filled")}
	w.secrets.Add(secret)
}
