package bundles_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/summary"
)

var (
	deployments = fleet.SchemeGroupVersion.WithResource("bundledeployments")
	contents    = fleet.SchemeGroupVersion.WithResource("contents")
)

// hubAgent is the hub's user agent, by which its requests are counted.
const hubAgent = "fleet-controller"

// reporters is how many agents report at once.
const reporters = 8

// bed is a hub with clusters that exist as objects alone.
type bed struct {
	*stage.Stage
	log *count.AuditLog
}

func newBed(t *testing.T, clusters int) *bed {
	t.Helper()
	s, err := stage.NewForSuite(lab.New(t, lab.WithAudit()))
	require.NoError(t, err)
	s.Env = stage.Election(2*time.Minute, 100*time.Second, 2*time.Second) // a busy machine is not to cost the hub its lead
	s.EndWithTest(t)
	ctx := t.Context()
	require.NoError(t, s.InstallHub(ctx, map[string]any{"bootstrap": map[string]any{"enabled": false}}))
	_, err = s.StartController(ctx)
	require.NoError(t, err)
	b := &bed{Stage: s, log: count.NewAuditLog(s.Hub.AuditLog())}
	require.NoError(t, s.EnsureNamespace(ctx, stage.Workspace))
	for i := range clusters {
		require.NoError(t, stage.Create(ctx, s.Hub, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: clusterName(i), Labels: map[string]string{"env": "prod"}},
		}))
	}
	await(t, "all clusters have a namespace", func(ctx context.Context) (bool, string, error) {
		list, err := stage.List[fleet.Cluster](ctx, s.Hub, stage.Clusters, stage.Workspace)
		have := 0
		for i := range list {
			if list[i].Status.Namespace != "" {
				have++
			}
		}
		return have == clusters, fmt.Sprintf("%d of %d", have, clusters), err
	})
	return b
}

func clusterName(i int) string { return fmt.Sprintf("c%03d", i) }

// playAgents has every deployment applied, until the test ends.
func (b *bed) playAgents(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list, err := stage.List[fleet.BundleDeployment](ctx, b.Hub, deployments, "")
			if err != nil {
				continue
			}
			var agents errgroup.Group
			agents.SetLimit(reporters)
			for i := range list {
				if bd := &list[i]; bd.DeletionTimestamp == nil && bd.Status.AppliedDeploymentID != bd.Spec.DeploymentID {
					agents.Go(func() error { b.report(ctx, bd); return nil })
				}
			}
			_ = agents.Wait()
		}
	}()
}

// report is what an agent says in one patch, the words of lists with it.
func (b *bed) report(ctx context.Context, bd *fleet.BundleDeployment) {
	bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = bd.Spec.DeploymentID, true, true
	bd.Status.Display = summary.Display(bd)
	patch, err := json.Marshal(map[string]any{"status": bd.Status})
	if err != nil {
		return
	}
	_, _ = b.Hub.Dynamic.Resource(deployments).Namespace(bd.Namespace).Patch(ctx, bd.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
}

// hubWrites are the hub's writes since the last call, Leases apart.
func (b *bed) hubWrites(t *testing.T) count.Counts {
	t.Helper()
	all := count.Counts{}
	require.NoError(t, b.log.Read(func(e count.Entry) {
		if e.UserAgent == hubAgent && e.Key.Write() && e.Resource != "leases" && e.Resource != "events" {
			all[e.Key]++
		}
	}))
	return all
}

// awaitBundle waits until a bundle is ready on so many clusters.
func (b *bed) awaitBundle(t *testing.T, name string, clusters int) {
	t.Helper()
	want := fmt.Sprintf("%d/%d", clusters, clusters)
	await(t, "bundle "+name+" is ready on "+want, func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.Hub, stage.Bundles, stage.Workspace, name)
		if err != nil || bundle == nil {
			return false, "there is none", err
		}
		done := bundle.Status.Display.ReadyClusters == want && stage.IsTrue(bundle.Status.Conditions, "Ready")
		return done, bundle.Status.Display.ReadyClusters + " " + stage.Conditions(bundle.Status.Conditions), nil
	})
}
