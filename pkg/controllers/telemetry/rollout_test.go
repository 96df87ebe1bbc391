package telemetry

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestABundleIsTimedFromItsChangeUntilItIsReady(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	timer := newTimer[int64](clock)
	measured := func(before, after *fleet.Bundle, first bool) time.Duration {
		took, ok := timeBundle(timer, before, after, first)
		assert.Equal(t, ok, took > 0)
		clock.SetTime(clock.Now().Add(time.Second))
		return took
	}
	unready, done := bundleAt(1, isFalse(ready, "")), bundleAt(1, isTrue(ready, ""))
	assert.Zero(t, measured(nil, unready, false))
	assert.Equal(t, time.Second, measured(unready, done, false))
	assert.Zero(t, measured(done, unready, false))
	assert.Zero(t, measured(unready, done, false), "a cluster that fails and comes back is no rollout")

	behind := bundleAt(2, isTrue(ready, ""))
	behind.Status.ObservedGeneration = 1
	assert.Zero(t, measured(done, behind, false), "it is the old version that is ready")
	assert.Equal(t, time.Second, measured(behind, bundleAt(2, isTrue(ready, "")), false))

	assert.Zero(t, measured(nil, bundleAt(1, isFalse(ready, "")), true), "nobody knows since when it is there")
	assert.Zero(t, measured(nil, done, true))

	assert.Zero(t, measured(done, bundleAt(3, isFalse(ready, "InvalidBundle")), false))
	assert.Zero(t, measured(bundleAt(3), bundleAt(3, isTrue(ready, "")), false), "how long a person takes is no figure")
	paused := bundleAt(4, isFalse(ready, ""))
	paused.Spec.Paused = true
	assert.Zero(t, measured(bundleAt(3), paused, false))
	assert.Empty(t, timer.runs)

	measured(nil, bundleAt(5), false)
	measured(bundleAt(5), nil, false)
	assert.Empty(t, timer.runs, "nothing is left of what is deleted")
}

func TestADeploymentIsTimedFromItsReleaseUntilItIsApplied(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(began)
	timer := newTimer[string](clock)
	measured := func(before, after *fleet.BundleDeployment, first bool) time.Duration {
		took, _ := timeDeployment(timer, before, after, first)
		clock.SetTime(clock.Now().Add(time.Second))
		return took
	}
	assert.Zero(t, measured(nil, deploymentOf("", ""), false))
	assert.Zero(t, measured(deploymentOf("", ""), deploymentOf("v1", ""), false))
	assert.Zero(t, measured(deploymentOf("v1", ""), deploymentOf("v2", ""), false), "an earlier version is measured no more")
	assert.Equal(t, time.Second, measured(deploymentOf("v2", ""), deploymentOf("v2", "v2"), false))
	assert.Zero(t, measured(deploymentOf("v2", "v2"), deploymentOf("v2", "v2"), false))
	assert.Zero(t, measured(nil, deploymentOf("v1", ""), true), "nobody knows since when it is there")
	gone := deploymentOf("v3", "")
	measured(nil, gone.DeepCopy(), false)
	gone.DeletionTimestamp = &metav1.Time{Time: began}
	measured(deploymentOf("v3", ""), gone, false)
	assert.Empty(t, timer.runs)
}

func TestWhatIsTimedIsBounded(t *testing.T) {
	timer := newTimer[int](clocktesting.NewFakePassiveClock(began))
	for i := range maxTimed + 10 {
		timer.begin(types.UID(strconv.Itoa(i)), i)
	}
	assert.LessOrEqual(t, len(timer.runs), maxTimed)
	for uid := range timer.runs {
		timer.begin(uid, 7)
		_, ok := timer.reached(uid, 7)
		assert.True(t, ok, "one that is timed already goes on")
		break
	}
}
