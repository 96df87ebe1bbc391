package telemetry

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/wrangler/v3/pkg/genericcondition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/kube/metricstest"
)

const ready = fleet.BundleConditionReady

// bundleAt is a bundle that the hub has looked at, in a generation.
func bundleAt(generation int64, list ...genericcondition.GenericCondition) *fleet.Bundle {
	return &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: "app", UID: "uid-of-app", Generation: generation},
		Status:     fleet.BundleStatus{Conditions: list, ObservedGeneration: generation},
	}
}

// inState is a bundle whose worst cluster is in a state.
func inState(name, state string) *fleet.Bundle {
	b := bundleAt(1, isFalse(ready, ""))
	b.Name, b.UID, b.Status.Display.State = name, types.UID(name), state
	return b
}

// deploymentOf is a deployment that is to have one version and has another.
func deploymentOf(want, applied string, list ...genericcondition.GenericCondition) *fleet.BundleDeployment {
	return &fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "cluster-edge", Name: "app", UID: "uid-of-deployment"},
		Spec:       fleet.BundleDeploymentSpec{DeploymentID: want, StagedDeploymentID: want},
		Status:     fleet.BundleDeploymentStatus{AppliedDeploymentID: applied, Conditions: list, Ready: true, NonModified: true},
	}
}

var failed = isFalse(fleet.BundleDeploymentConditionDeployed, "Error")

func TestABundleThatIsRefusedIsToldOnceForEachReason(t *testing.T) {
	for name, test := range map[string]struct {
		before, after *fleet.Bundle
		want          []string
	}{
		"new":             {nil, bundleAt(1), nil},
		"refused":         {nil, bundleAt(1, isFalse(ready, "InvalidBundle")), []string{"Warning InvalidBundle Bundle/app", "bundle refused InvalidBundle"}},
		"for another":     {bundleAt(1, isFalse(ready, "InvalidBundle")), bundleAt(2, isFalse(ready, "InvalidRollout")), []string{"Warning InvalidRollout Bundle/app", "bundle refused InvalidRollout"}},
		"still":           {bundleAt(1, isFalse(ready, "InvalidBundle")), bundleAt(2, isFalse(ready, "InvalidBundle")), nil},
		"unknown":         {nil, bundleAt(1, isFalse(ready, "FullMoon")), []string{"Warning FullMoon Bundle/app", "bundle refused other"}},
		"about clusters":  {bundleAt(1, isTrue(ready, "")), bundleAt(1, isFalse(ready, "")), nil},
		"waits by itself": {nil, bundleAt(1, isFalse(ready, "WaitingForValues")), nil},
		"gone":            {bundleAt(1, isTrue(ready, "")), nil, nil},
	} {
		assert.Equal(t, test.want, lines(bundleNews(test.before, test.after)), name)
	}
	leaving := bundleAt(1, isFalse(ready, "InvalidBundle"))
	leaving.DeletionTimestamp = &metav1.Time{Time: began}
	assert.Empty(t, bundleNews(nil, leaving))
}

func TestAVersionThatFailsIsToldOnce(t *testing.T) {
	want := []string{"Warning ErrApplied BundleDeployment/app", "deployment failed "}
	assert.Equal(t, want, lines(deploymentNews(nil, deploymentOf("v1", "", failed))))
	assert.Equal(t, want, lines(deploymentNews(deploymentOf("v1", ""), deploymentOf("v1", "", failed))))
	assert.Equal(t, want, lines(deploymentNews(deploymentOf("v1", "", failed), deploymentOf("v2", "", failed))))
	assert.Empty(t, deploymentNews(deploymentOf("v1", "", failed), deploymentOf("v1", "", failed)))
	assert.Empty(t, deploymentNews(nil, deploymentOf("v1", "v1")))
	assert.Empty(t, deploymentNews(deploymentOf("v1", "", failed), nil))

	long := failed
	long.Message = strings.Repeat("x\x1b[31m ", 2000)
	message := deploymentNews(nil, deploymentOf("v1", "", long))[0].event.message
	assert.LessOrEqual(t, len(message), maxMessage)
	assert.NotContains(t, message, "\x1b", "an agent wrote it")
}

func TestBundlesAndDeploymentsAreCountedByState(t *testing.T) {
	c := newCensus()
	changed := bundleAt(2, isTrue(ready, ""))
	changed.Status.ObservedGeneration = 1
	agents := bundleAt(1, isTrue(ready, ""))
	agents.Name, agents.OwnerReferences = "fleet-agent-edge", []metav1.OwnerReference{{Kind: "Cluster", Name: "edge", UID: "uid-of-edge"}}
	named := bundleAt(1, isTrue(ready, ""))
	named.Name = "fleet-agent-edge"
	for _, one := range []*fleet.Bundle{
		bundleAt(1, isTrue(ready, "")), inState("a", "Modified"), inState("b", "FullMoon"), changed, bundleAt(1), agents, named,
		bundleAt(1, isFalse(ready, "WaitingForValues")), bundleAt(1, isFalse(ready, "ContentTooLarge")),
	} {
		c.addBundle(one)
	}
	assert.Equal(t, map[pair]int{
		{"Ready", "user"}: 2, {"Ready", "agent"}: 1, {"Modified", "user"}: 1, {"other", "user"}: 1, {"Waiting", "user"}: 3, {"Refused", "user"}: 1,
	}, more(c.bundles))

	gone := deploymentOf("v1", "v1")
	gone.DeletionTimestamp = &metav1.Time{Time: began}
	agent := deploymentOf("v1", "v1")
	agent.Labels = map[string]string{"fleet.cattle.io/agent-bundle": "true"}
	for _, one := range []*fleet.BundleDeployment{
		agent, deploymentOf("v1", "v1"), deploymentOf("v2", "v1"), deploymentOf("v2", "v1", failed), deploymentOf("", ""), gone,
	} {
		c.addDeployment(one)
	}
	assert.Equal(t, map[pair]int{
		{"Ready", "agent"}: 1, {"Ready", "user"}: 1, {"WaitApplied", "user"}: 1, {"ErrApplied", "user"}: 1, {"Pending", "user"}: 1, {"Leaving", "user"}: 1,
	}, more(c.deployments))
}

func TestDeliveryIsCountedAndTimed(t *testing.T) {
	h := newHub()
	h.start(t)
	h.bundles.Add(bundleAt(1, isFalse(ready, "")))
	h.deployments.Add(deploymentOf("v1", ""))
	h.counts(t, 1, "fleet_bundledeployments", map[string]string{"state": "WaitApplied", "of": "user"})
	h.deployments.Modify(deploymentOf("v1", "", failed))
	h.becomes(t, 1, "fleet_bundledeployment_failures_total", nil)
	h.deployments.Modify(deploymentOf("v1", "v1"))
	h.becomes(t, 1, "fleet_bundledeployment_apply_duration_seconds", nil)
	h.bundles.Modify(bundleAt(1, isTrue(ready, "")))
	h.becomes(t, 1, "fleet_bundle_rollout_duration_seconds", nil)
	h.counts(t, 1, "fleet_bundles", map[string]string{"state": "Ready", "of": "user"})
	h.bundles.Modify(bundleAt(2, isFalse(ready, "InvalidRollout")))
	h.becomes(t, 1, "fleet_bundle_refusals_total", of("reason", "InvalidRollout"))
	require.Eventually(t, func() bool { return len(h.events(t)) == 2 }, soon, tick)
	assert.ElementsMatch(t, []string{"Warning ErrApplied BundleDeployment/app", "Warning InvalidRollout Bundle/app"}, words(h.events(t)))

	h.bundles.Delete(bundleAt(2))
	h.deployments.Delete(deploymentOf("v1", "v1"))
	h.counts(t, 0, "fleet_bundledeployments", map[string]string{"state": "Ready", "of": "user"})
	series := 0
	for name, family := range metricstest.Scrape(t, h.registry) {
		if strings.HasPrefix(name, "fleet_bundle") {
			series += len(family.GetMetric())
		}
	}
	assert.Less(t, series, 60, "no series comes of a name")
}

// The reasons of docs/delivery.md are in the lists of reasons.go.
func TestEveryReasonOfABundleIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../../docs/delivery.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "## Condition Ready of a Bundle\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	var stated []string
	for _, line := range strings.Split(section, "\n") {
		if cells := regexp.MustCompile("^\\| `(\\w+)` \\|").FindStringSubmatch(line); cells != nil && cells[1] != stateLeaving {
			stated = append(stated, cells[1])
		}
	}
	assert.ElementsMatch(t, stated, append(append([]string{}, bundleRefusals...), bundleWaits...))
	assert.Equal(t, corev1.EventTypeWarning, bundleNews(nil, bundleAt(1, isFalse(ready, bundleRefusals[0])))[0].event.eventType)
}
