package helmdeployer

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// listening counts the waits that begin and those that end.
func listening(t *testing.T) (ctx context.Context, begun, ended *atomic.Int32) {
	t.Helper()
	begun, ended = &atomic.Int32{}, &atomic.Int32{}
	return OnWait(t.Context(), func() func() {
		begun.Add(1)
		return func() { ended.Add(1) }
	}), begun, ended
}

// Whoever bounds how much is worked on at once has to know what only waits.
func TestWhatOnlyWaitsSaysSo(t *testing.T) {
	const hook = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: h, annotations: {helm.sh/hook: \"pre-install,pre-delete\"}}\n"
	server := httptest.NewServer(nil)
	t.Cleanup(server.Close)
	waiting := raw("app", configMap("a", "one"))
	waiting.Options.Helm = &fleet.HelmOptions{TimeoutSeconds: 20}
	fetched := raw("app")
	fetched.Options.Helm = &fleet.HelmOptions{Repo: server.URL, Chart: "none"}
	hooked := chart("app", map[string]string{"templates/h.yaml": hook, "templates/a.yaml": configMap("a", "one")})
	for name, test := range map[string]struct {
		job          Job
		waits, fails bool
	}{
		"plain":        {job: raw("app", configMap("a", "one"))},
		"objects":      {job: waiting, waits: true},
		"hooks":        {job: hooked, waits: true},
		"a repository": {job: fetched, waits: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ctx, begun, ended := listening(t)
			_, err := w.deployer().Deploy(ctx, test.job)
			require.Equal(t, test.fails, err != nil, "%v", err)
			assert.Equal(t, test.waits, begun.Load() > 0)
			assert.Equal(t, begun.Load(), ended.Load())
		})
	}
	t.Run("hooks of a removal", func(t *testing.T) {
		w := newWorld(t)
		d := w.deployer()
		_, err := d.Deploy(t.Context(), hooked)
		require.NoError(t, err)
		ctx, begun, ended := listening(t)
		require.NoError(t, d.Uninstall(ctx, "app"))
		assert.Positive(t, begun.Load())
		assert.Equal(t, begun.Load(), ended.Load())
	})
	t.Run("another operation on the release", func(t *testing.T) {
		w := newWorld(t)
		d := w.deployer()
		end, err := d.turns.take(t.Context(), appNamespace, "app")
		require.NoError(t, err)
		ctx, begun, ended := listening(t)
		done := make(chan error, 1)
		go func() {
			_, err := d.Deploy(ctx, raw("app", configMap("a", "one")))
			done <- err
		}()
		require.Eventually(t, func() bool { return begun.Load() == 1 }, 30*time.Second, time.Millisecond)
		assert.Zero(t, ended.Load())
		end()
		require.NoError(t, <-done)
		assert.EqualValues(t, 1, ended.Load())
	})
}
