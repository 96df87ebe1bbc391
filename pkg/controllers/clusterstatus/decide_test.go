package clusterstatus

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/conditions"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// deployment is a bundle on the cluster; id is what is applied, "v1" what is wanted.
func deployment(name, applied string, ready bool, labels map[string]string) *fleet.BundleDeployment {
	bd := &fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: placeC, Name: name, Labels: labels}}
	bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID = "v1", "v1"
	bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = applied, ready, true
	bd.Status.ResourceCounts = fleet.ResourceCounts{DesiredReady: 3, Ready: 2, NotReady: 1}
	return bd
}

func repo(name string) map[string]string {
	return map[string]string{fleet.BundleNamespaceLabel: "ws", fleet.RepoLabel: name}
}

func leaving(bd *fleet.BundleDeployment) *fleet.BundleDeployment {
	stamp := metav1.NewTime(now)
	bd.DeletionTimestamp, bd.Finalizers = &stamp, []string{"x"}
	return bd
}

// seen is the status of a cluster whose agent has reported.
func seen() fleet.ClusterStatus {
	return fleet.ClusterStatus{Agent: fleet.AgentStatus{LastSeen: metav1.NewTime(now)}}
}

func statusOf(before fleet.ClusterStatus, deployments ...*fleet.BundleDeployment) fleet.ClusterStatus {
	figuresOf(deployments).into(&before, now)
	return before
}

func TestACountIsWhatThereIs(t *testing.T) {
	s := statusOf(seen(),
		deployment("b", "v1", false, repo("r1")),
		deployment("a", "v1", true, repo("r1")),
		deployment("c", "v1", true, repo("r2")),
		deployment("d", "", true, map[string]string{fleet.BundleNamespaceLabel: "ws", fleet.HelmOpLabel: "h"}),
		leaving(deployment("e", "", false, repo("r3"))), // B06
	)
	assert.Equal(t, 4, s.Summary.DesiredReady)
	assert.Equal(t, 2, s.Summary.Ready)
	assert.Equal(t, 1, s.Summary.NotReady)
	assert.Equal(t, 1, s.Summary.WaitApplied)
	assert.Equal(t, fleet.ResourceCounts{DesiredReady: 12, Ready: 8, NotReady: 4}, s.ResourceCounts)
	assert.Equal(t, "2/4", s.Display.ReadyBundles)
	assert.Equal(t, "WaitApplied", s.Display.State)
	assert.Equal(t, [2]int{1, 2}, [2]int{s.ReadyGitRepos, s.DesiredReadyGitRepos}, "a repository is ready when all of its bundles are")
	assert.Equal(t, [2]int{0, 1}, [2]int{s.ReadyHelmOps, s.DesiredReadyHelmOps})
	ready := conditions.GetCondition(s.Conditions, fleet.ClusterConditionReady)
	require.NotNil(t, ready)
	assert.Equal(t, corev1.ConditionFalse, ready.Status)
	assert.Contains(t, ready.Message, "WaitApplied(1) [Bundle d]")
	assert.Contains(t, ready.Message, "NotReady(1) [Bundle b]")
}

func TestAClusterIsReadyWhenAllOfItIs(t *testing.T) {
	for name, s := range map[string]fleet.ClusterStatus{
		"ready bundle": statusOf(seen(), deployment("a", "v1", true, nil)),
		"no bundle":    statusOf(seen()),
	} {
		assert.True(t, conditions.IsTrue(s.Conditions, fleet.ClusterConditionReady), name)
		assert.Empty(t, s.Display.State, name)
	}
	assert.Equal(t, "0/0", statusOf(seen()).Display.ReadyBundles)
}

func TestAClusterThatNeverReportedWaitsForThat(t *testing.T) {
	s := statusOf(fleet.ClusterStatus{}, deployment("a", "v1", true, nil))
	assert.Equal(t, "WaitCheckIn", s.Display.State)
	ready := conditions.GetCondition(s.Conditions, fleet.ClusterConditionReady)
	require.NotNil(t, ready)
	assert.Equal(t, corev1.ConditionFalse, ready.Status)
	assert.Equal(t, "WaitCheckIn", ready.Reason)
}

func TestTheOrderOfTheDeploymentsIsNoChange(t *testing.T) {
	var forth, back []*fleet.BundleDeployment
	for i := range 30 {
		bd := deployment(fmt.Sprintf("b-%02d", i), "", false, nil)
		forth, back = append(forth, bd), append([]*fleet.BundleDeployment{bd}, back...)
	}
	assert.Equal(t, statusOf(seen(), forth...), statusOf(seen(), back...))
}

// An agent may put anything into its reports; a hundred of them still make a status that can be stored.
func TestAStatusIsBounded(t *testing.T) {
	var deployments []*fleet.BundleDeployment
	for i := range 500 {
		bd := deployment(fmt.Sprintf("b-%03d", i), "v1", false, nil)
		for j := range 200 {
			bd.Status.NonReadyStatus = append(bd.Status.NonReadyStatus, fleet.NonReadyStatus{
				Kind: "Deployment", APIVersion: "apps/v1", Namespace: "ns", Name: fmt.Sprintf("%d-%0200d", j, j),
			})
		}
		deployments = append(deployments, bd)
	}
	s := statusOf(seen(), deployments...)
	assert.LessOrEqual(t, len(s.Summary.NonReadyResources), 10)
	size := (&fleet.Cluster{Status: s}).Status
	assert.Less(t, len(fmt.Sprintf("%+v", size)), 256<<10)
}

// A cluster with hundreds of bundles of which each has hundreds of failing resources.
func TestTheStatusOfAClusterStaysSmallHoweverManyResourcesFail(t *testing.T) {
	text := strings.Repeat("<\x01", 2_000)
	var failing []fleet.NonReadyStatus
	for i := range 300 {
		n := fleet.NonReadyStatus{Kind: "Deployment", Namespace: "ns", Name: fmt.Sprint(i)}
		n.Summary.State, n.Summary.Message = text, []string{text, text, text}
		failing = append(failing, n)
	}
	var deployments []*fleet.BundleDeployment
	for i := range 500 {
		bd := deployment(fmt.Sprintf("b%03d", i), "v1", false, repo(fmt.Sprint(i)))
		bd.Status.NonReadyStatus = failing
		deployments = append(deployments, bd)
	}
	s := statusOf(seen(), deployments...)

	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Less(t, len(encoded), 256<<10)
	assert.Equal(t, 500, s.Summary.NotReady)
	assert.Equal(t, "0/500", s.Display.ReadyBundles)
}
