package helm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmdeployer"
)

// mortal is a way to the cluster that ends after a number of writes, as that of an agent does that is killed.
type mortal struct {
	next   http.RoundTripper
	writes atomic.Int64
	after  int64
}

func (m *mortal) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		m.writes.Add(1)
	}
	if m.writes.Load() > m.after {
		return nil, errors.New("the agent was killed")
	}
	return m.next.RoundTrip(req)
}

func (b *bed) dying(after int64) (*helmdeployer.Deployer, *mortal) {
	way := &mortal{after: after}
	cfg := rest.CopyConfig(b.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		way.next = next
		return way
	})
	return b.agent(cfg), way
}

// H01, H02: an agent is killed at any write of an install and of the upgrade after it; the next one completes both.
func TestKilledAtAnyWrite(t *testing.T) {
	b := newBed(t)
	service := func(port string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: x}, ports: [{port: " + port + "}]}\n"
	}
	points := stage.Reduced(t, "every so many writes is one at which the agent is killed:", int64(2), int64(1))
	for point := int64(0); ; point += points {
		require.NoError(t, b.Uninstall(b.ctx(), "killed"))
		agent, way := b.dying(point)
		_, err := agent.Deploy(b.ctx(), b.bundle("killed", configMap("a", "one"), service("80"), configMap("gone", "one")))
		if way.writes.Load() <= point {
			require.NoError(t, err)
			require.Greater(t, point, int64(3))
			return
		}
		agent, _ = b.dying(point)
		_, _ = agent.Deploy(b.ctx(), b.bundle("killed", configMap("a", "two"), service("81"), configMap("gone", "two")))
		got := b.deploy(b.bundle("killed", configMap("a", "three"), service("82")))
		assert.Equal(t, "three", b.value("a"), "killed at write %d", point)
		assert.Empty(t, b.value("gone"), "killed at write %d", point)
		live, err := b.Kube.CoreV1().Services(b.namespace).Get(b.ctx(), "s", metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, int32(82), live.Spec.Ports[0].Port)
		assert.Len(t, live.Spec.Ports, 1)
		loaded, err := b.Load(b.ctx(), got.ID, b.owner("killed"))
		require.NoError(t, err)
		assert.Equal(t, got, loaded)
	}
}

// H01: an agent is killed at any write of an uninstall. The next one completes it; and where the bundle is wanted again by
// then, it deploys it again.
func TestKilledAtAnyWriteOfAnUninstall(t *testing.T) {
	b := newBed(t)
	job := b.bundle("leaving", configMap("a", "one"), configMap("b", "one"))
	points := stage.Reduced(t, "every so many writes is one at which the agent is killed:", int64(2), int64(1))
	for point := int64(0); ; point += points {
		for _, wanted := range []bool{false, true} {
			b.deploy(job)
			agent, way := b.dying(point)
			err := agent.Uninstall(b.ctx(), "leaving")
			if way.writes.Load() <= point {
				require.NoError(t, err)
				require.Greater(t, point, int64(3))
				return
			}
			if wanted {
				b.deployEventually(job)
				assert.Equal(t, "one", b.value("a"), "killed at write %d", point)
				assert.Equal(t, "one", b.value("b"), "killed at write %d", point)
			}
			require.NoError(t, b.Uninstall(b.ctx(), "leaving"))
			assert.Empty(t, b.value("a"), "killed at write %d", point)
			assert.Empty(t, b.value("b"), "killed at write %d", point)
			left, err := b.List(b.ctx())
			require.NoError(t, err)
			for _, release := range left {
				assert.NotEqual(t, "leaving", release.BundleID, "killed at write %d", point)
			}
		}
	}
}

// H08: corrections leave no history, however many there are.
func TestCorrectionsLeaveNoHistory(t *testing.T) {
	b := newBed(t)
	got := b.deploy(b.bundle("drifting", configMap("a", "one")))
	maps := b.Kube.CoreV1().ConfigMaps(b.namespace)
	for i := range stage.Reduced(t, "corrections:", 20, 500) {
		_, err := maps.Patch(b.ctx(), "a", types.MergePatchType, []byte(fmt.Sprintf(`{"data":{"key":"changed-%d"}}`, i)), metav1.PatchOptions{})
		require.NoError(t, err)
		corrected, err := b.Correct(b.ctx(), got.ID, b.owner("drifting"), fleet.CorrectDrift{Enabled: true, Force: i%2 > 0, KeepFailHistory: i%3 > 0})
		require.NoError(t, err)
		require.Equal(t, got.ID, corrected.ID)
		require.Equal(t, "one", b.value("a"))
	}
	records, err := b.Kube.CoreV1().Secrets(b.namespace).List(b.ctx(), metav1.ListOptions{LabelSelector: "owner=helm,name=drifting"})
	require.NoError(t, err)
	require.Len(t, records.Items, 1)
}

const neverReady = `apiVersion: apps/v1
kind: Deployment
metadata: {name: never}
spec:
  selector: {matchLabels: {app: never}}
  template:
    metadata: {labels: {app: never}}
    spec: {containers: [{name: c, image: none}]}
`

// A wait ends at its time, with what is not ready; and at once with the agent.
func TestAWaitEnds(t *testing.T) {
	b := newBed(t)
	job := b.bundle("wait", neverReady)
	job.Options.Helm = &fleet.HelmOptions{TimeoutSeconds: 2}
	_, err := b.Deploy(b.ctx(), job)
	require.ErrorContains(t, err, `timed out waiting for the condition: not ready after 2s: Deployment "never"`)
	assert.True(t, helmdeployer.IsFinal(err))

	job.Options.Helm.TimeoutSeconds = 600
	ctx, cancel := context.WithCancel(b.ctx())
	began := make(chan error, 1)
	go func() { _, err := b.Deploy(ctx, job); began <- err }()
	stage.AwaitWithin(t, patience, "a revision that is waited for", func(ctx context.Context) (bool, string, error) {
		found, err := b.Recorded(ctx, b.namespace+"/wait:2")
		return found, "no second revision", err
	})
	cancel()
	select {
	case err := <-began:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(patience):
		require.Fail(t, "the wait goes on after the agent's end")
	}
	job.Options.Helm = nil
	b.deploy(job)
}

// H04: an upgrade that fails in a hook leaves the release as it was, and the next one can do better.
func TestAFailedHookRemovesNothing(t *testing.T) {
	b := newBed(t)
	job := b.bundle("hook")
	job.Files = append(job.Files, file("Chart.yaml", "apiVersion: v2\nname: hook\nversion: 1.0.0\n"), file("templates/c.yaml", configMap("c", "one")))
	b.deploy(job)
	job.Files[1] = file("templates/c.yaml", configMap("c", "two"))
	job.Files = append(job.Files, file("templates/h.yaml", `apiVersion: batch/v1
kind: Job
metadata: {name: never, annotations: {helm.sh/hook: pre-upgrade}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}
`))
	for _, atomic := range []bool{false, true} {
		job.Options.Helm = &fleet.HelmOptions{TimeoutSeconds: 2, Atomic: atomic}
		_, err := b.Deploy(b.ctx(), job)
		require.ErrorContains(t, err, `hook not done after 2s: Job "never"`)
		assert.True(t, helmdeployer.IsFinal(err))
		assert.Equal(t, "one", b.value("c"))
	}
	job.Files = job.Files[:2]
	b.deploy(job)
	assert.Equal(t, "two", b.value("c"))
}

// deployEventually is for what follows from a removal that takes a moment.
func (b *bed) deployEventually(job helmdeployer.Job) {
	b.t.Helper()
	stage.AwaitWithin(b.t, patience, "bundle "+job.Name+" deployed", func(ctx context.Context) (bool, string, error) {
		_, err := b.Deploy(ctx, job)
		if err != nil {
			return false, err.Error(), nil
		}
		return true, "", nil
	})
}
