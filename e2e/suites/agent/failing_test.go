package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/count"
	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// failing is how many releases are never ready, whatever there are.
const failing = 5

// C04: releases that are not ready, and whose workloads go on saying so, do not have the agent read Helm's records again:
// neither theirs nor those of the others.
func TestReleasesThatAreNotReadyAreNotReadAgainAndAgain(t *testing.T) {
	b := newBed(t, lab.WithAudit())
	b.agent()
	releases := stage.Reduced(t, "releases:", 2*failing, 200)
	for i := range releases - failing {
		b.deploy(fmt.Sprintf("ready-%d", i), nil)
	}
	for i := range failing {
		b.deployNeverReady(fmt.Sprintf("failing-%d", i))
	}
	for i := range releases - failing {
		b.isReady(fmt.Sprintf("ready-%d", i))
	}
	log := count.NewAuditLog(b.AuditLog())
	b.requests(log)
	window := time.Duration(stage.Reduced(t, "seconds of watching:", 20, 60)) * time.Second
	for i, began := 0, time.Now(); time.Since(began) < window; i++ { // the observation window
		for n := range failing {
			patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Available","status":"False","message":"look %d"}]}}`, i)
			_, err := b.Kube.AppsV1().Deployments("apps").Patch(b.ctx(), fmt.Sprintf("failing-%d", n), types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
			require.NoError(t, err)
		}
		time.Sleep(500 * time.Millisecond) // between two changes of the workloads
	}
	records, workloads := b.requests(log)
	require.NotZero(t, workloads, "no workload was looked at, so this shows nothing")
	require.Empty(t, records, "records were read")
}

// deployNeverReady deploys a workload whose Pods never run, twice, so that there is a revision before.
func (b *bed) deployNeverReady(name string) {
	b.t.Helper()
	var id string
	b.deployText(name, strings.Join([]string{
		"apiVersion: apps/v1", "kind: Deployment", "metadata: {name: " + name + "}", "spec:", "  selector: {matchLabels: {app: " + name + "}}",
		"  template: {metadata: {labels: {app: " + name + "}}, spec: {containers: [{name: c, image: none}]}}",
	}, "\n"), func(bd *fleet.BundleDeployment) { id = bd.Spec.DeploymentID })
	b.isApplied(name, id)
	id = strings.TrimSuffix(id, "1") + "2"
	patch := fmt.Sprintf(`{"spec":{"deploymentID":%q,"stagedDeploymentID":%q}}`, id, id)
	_, err := b.Dynamic.Resource(deployments).Namespace(clusterNamespace).Patch(b.ctx(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(b.t, err)
	b.isApplied(name, id)
}

// isApplied waits until a version is applied, and not ready.
func (b *bed) isApplied(name, id string) {
	b.t.Helper()
	stage.AwaitWithin(b.t, patience, name+" is applied", func(ctx context.Context) (bool, string, error) {
		bd, err := stage.Get[fleet.BundleDeployment](ctx, b.Cluster, deployments, clusterNamespace, name)
		if err != nil || bd == nil {
			return false, "", err
		}
		return !bd.Status.Ready && bd.Status.AppliedDeploymentID == id, stage.Conditions(bd.Status.Conditions), nil
	})
}

// requests are the agent's since the last call: those of Helm's records, and how many of workloads.
func (b *bed) requests(log *count.AuditLog) (records []string, workloads int) {
	b.t.Helper()
	require.NoError(b.t, log.Read(func(e count.Entry) {
		switch {
		case e.UserAgent != "fleet-agent" || e.Verb == "watch":
		case e.Resource == "deployments" && e.Namespace == "apps":
			workloads++
		case e.Resource == "secrets" && (e.Name == "" || strings.HasPrefix(e.Name, "sh.helm.")):
			records = append(records, e.String()+" "+e.Name)
		}
	}))
	return records, workloads
}
