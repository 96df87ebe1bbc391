package content

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
)

const group = "fleet.cattle.io"

var start = time.Unix(1_700_000_000, 0)

type world struct {
	t           *testing.T
	h           *handler
	contents    *controllertest.ClusterController[*fleet.Content, *fleet.ContentList]
	deployments *controllertest.Controller[*fleet.BundleDeployment, *fleet.BundleDeploymentList]
	clock       *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T) *world {
	w := &world{
		t:           t,
		contents:    controllertest.NewCluster[*fleet.Content, *fleet.ContentList](group, "contents"),
		deployments: controllertest.New[*fleet.BundleDeployment, *fleet.BundleDeploymentList](group, "bundledeployments"),
		clock:       clocktesting.NewFakePassiveClock(start.Add(time.Minute)),
	}
	w.h = newHandler(Deps{Contents: w.contents, Deployments: w.deployments, Clock: w.clock})
	w.h.addIndexers()
	w.contents.Add(&fleet.Content{
		ObjectMeta: metav1.ObjectMeta{Name: "s-a", CreationTimestamp: metav1.NewTime(start)}, SHA256Sum: "a", Content: []byte("x"),
	})
	return w
}

func (w *world) look() *fleet.Content {
	w.t.Helper()
	if c := w.contents.Live("", "s-a"); c != nil {
		_, err := w.h.onChange("s-a", c)
		require.NoError(w.t, err)
	}
	return w.contents.Live("", "s-a")
}

func needing(cluster, current, staged string) *fleet.BundleDeployment {
	return &fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster, Name: "app", Labels: map[string]string{fleet.ContentNameLabel: staged}},
		Spec:       fleet.BundleDeploymentSpec{DeploymentID: current + ":1", StagedDeploymentID: staged + ":2"},
	}
}

func TestReferencesAreCounted(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.deployments.Add(needing(fmt.Sprint(i), "s-a", "s-a"))
	}
	assert.Equal(t, 3, w.look().Status.ReferenceCount)
	assert.Equal(t, []string{"patch s-a"}, w.contents.Writes())
	w.look()
	assert.Empty(t, w.contents.Writes(), "nothing new is not written")
	assert.Equal(t, []byte("x"), w.contents.Live("", "s-a").Content)
}

func TestAContentThatNobodyNeedsAnyMoreIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(needing("1", "s-a", "s-a"))
	w.look()
	w.deployments.Remove("1", "app")
	assert.Nil(t, w.look())
}

// One that was needed for so short a time that nobody counted goes as well.
func TestAContentThatWasNeededForAMomentIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.clock.SetTime(start.Add(time.Second))
	bd := needing("1", "s-a", "s-a")
	w.deployments.Add(bd)
	w.h.onDeployment(nil, bd)
	w.look()
	w.deployments.Remove("1", "app")
	w.h.onDeployment(bd, nil)
	assert.Nil(t, w.look())
}

// The version that runs is needed as much as the one that is staged.
func TestTheContentOfTheRunningVersionStays(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(needing("1", "s-a", "s-a"))
	w.look()
	w.deployments.Add(needing("1", "s-a", "s-b"))
	assert.Equal(t, 1, w.look().Status.ReferenceCount)
	w.deployments.Add(needing("1", "s-b", "s-b"))
	assert.Nil(t, w.look())
}

func TestAContentThatIsStillUnusedIsGivenTime(t *testing.T) {
	w := newWorld(t)
	assert.NotNil(t, w.look())
	after, ok := w.contents.After("", "s-a")
	require.True(t, ok)
	assert.Equal(t, unused-time.Minute, after)
	w.clock.SetTime(start.Add(unused))
	assert.Nil(t, w.look())
}

// A cache that is behind is no proof that nobody needs it.
func TestAContentThatWasJustTakenUpAgainStays(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(needing("1", "s-a", "s-a"))
	w.look()
	w.deployments.Remove("1", "app")
	w.deployments.Lag = true
	w.deployments.Add(needing("2", "s-a", "s-a"))
	assert.NotNil(t, w.look())
}

func TestManyDeploymentsAreCountedOnce(t *testing.T) {
	w := newWorld(t)
	w.clock.SetTime(start.Add(time.Second))
	w.deployments.Add(needing("1", "s-a", "s-a"))
	w.look()
	assert.Empty(t, w.contents.Writes())
	after, ok := w.contents.After("", "s-a")
	require.True(t, ok)
	assert.Equal(t, settle-time.Second, after)
}

func TestReportsOfAgentsCountNothing(t *testing.T) {
	w := newWorld(t)
	before := needing("1", "s-a", "s-a")
	after := before.DeepCopy()
	after.Status.Ready = true
	w.h.onDeployment(before, after)
	_, ok := w.contents.After("", "s-a")
	assert.False(t, ok)
	w.h.onDeployment(before, needing("1", "s-b", "s-b"))
	_, ok = w.contents.After("", "s-a")
	assert.True(t, ok)
	_, ok = w.contents.After("", "s-b")
	assert.True(t, ok)
}

func TestFinalizersOfEarlierReleasesAreTakenOff(t *testing.T) {
	w := newWorld(t)
	c := w.contents.Live("", "s-a").DeepCopy()
	c.Finalizers, c.DeletionTimestamp = []string{"fleet.cattle.io/bundle-deployment"}, &metav1.Time{Time: start}
	w.contents.Add(c)
	assert.Empty(t, w.look().Finalizers)
}

// Those that are on their way out may fill a whole page of what the API server says.
func TestDeploymentsThatGoDoNotHideOneThatNeedsTheContent(t *testing.T) {
	for name, leaving := range map[string]int{"one goes": 1, "a page of them goes": livePage, "pages of them go": 2*livePage + 1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range leaving {
				w.deployments.Add(needing(fmt.Sprintf("a%03d", i), "s-a", "s-a"))
			}
			w.look()
			for i := range leaving {
				going := needing(fmt.Sprintf("a%03d", i), "s-a", "s-a")
				going.Finalizers, going.DeletionTimestamp = []string{"x"}, &metav1.Time{Time: start}
				w.deployments.Add(going)
			}
			w.deployments.Lag = true
			w.deployments.Add(needing("b", "s-a", "s-a"))
			assert.NotNil(t, w.look(), "b needs it, which the cache does not show yet")
			w.deployments.Remove("b", "app")
			assert.Nil(t, w.look(), "nobody needs it")
		})
	}
}
