package bundledeployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/deployment"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/summary"
)

const (
	group = "fleet.cattle.io"
	place = "cluster-ns"
	app   = "app"
)

var start = time.Unix(1_700_000_000, 0)

type world struct {
	t           *testing.T
	h           *handler
	deployments *controllertest.Controller[*fleet.BundleDeployment, *fleet.BundleDeploymentList]
	secrets     *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	configMaps  *controllertest.Controller[*corev1.ConfigMap, *corev1.ConfigMapList]
	clock       *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T) *world {
	w := &world{
		t:           t,
		deployments: controllertest.New[*fleet.BundleDeployment, *fleet.BundleDeploymentList](group, "bundledeployments"),
		secrets:     controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		configMaps:  controllertest.New[*corev1.ConfigMap, *corev1.ConfigMapList]("", "configmaps"),
		clock:       clocktesting.NewFakePassiveClock(start),
	}
	w.h = &handler{Deps: Deps{Deployments: w.deployments, Secrets: w.secrets, ConfigMaps: w.configMaps, Clock: w.clock}}
	return w
}

func (w *world) look() {
	w.t.Helper()
	_, err := w.h.onChange(place+"/"+app, w.deployments.Live(place, app))
	require.NoError(w.t, err)
}

func newDeployment(change ...func(*fleet.BundleDeployment)) *fleet.BundleDeployment {
	bd := &fleet.BundleDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app, UID: "uid", Finalizers: []string{names.BundleDeploymentFinalizer, "others"}},
		Spec:       fleet.BundleDeploymentSpec{DeploymentID: "a", StagedDeploymentID: "a"},
	}
	for _, f := range change {
		f(bd)
	}
	return bd
}

func applied(bd *fleet.BundleDeployment) {
	bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = "a", true, true
}

func deleting(bd *fleet.BundleDeployment) { bd.DeletionTimestamp = &metav1.Time{Time: start} }

func TestTheWordsAreWrittenOnceItIsQuiet(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(newDeployment(applied))
	w.look()
	assert.Empty(t, w.deployments.Writes())
	after, ok := w.deployments.After(place, app)
	require.True(t, ok)
	assert.Equal(t, quiet, after)

	w.clock.SetTime(start.Add(quiet))
	w.look()
	assert.Equal(t, "Ready", w.deployments.Live(place, app).Status.Display.State)
	w.deployments.Writes()
	w.look()
	assert.Empty(t, w.deployments.Writes(), "C09")
}

func TestAnAgentThatWritesTheWordsItselfCostsNothing(t *testing.T) {
	w := newWorld(t)
	bd := newDeployment(applied)
	bd.Status.Display = summary.Display(bd)
	w.deployments.Add(bd)
	w.clock.SetTime(start.Add(time.Hour))
	w.look()
	assert.Empty(t, w.deployments.Writes())
}

// A deployment costs one write while its cluster does not answer, however long that is.
func TestNothingIsWrittenBeforeTheFirstWordOfAnAgent(t *testing.T) {
	w := newWorld(t)
	w.deployments.Add(newDeployment())
	w.look()
	w.clock.SetTime(start.Add(24 * time.Hour))
	w.look()
	assert.Empty(t, w.deployments.Writes())
}

func TestADeploymentGoesWithWhatBelongsToIt(t *testing.T) {
	copied := map[string]string{deployment.CopyLabel: "true"}
	needs := []fleet.DownstreamResource{
		{Kind: "Secret", Name: "pull"}, {Kind: "Secret", Name: "shared"}, {Kind: "Secret", Name: "foreign"}, {Kind: "ConfigMap", Name: "settings"},
	}
	w := newWorld(t)
	w.secrets.Add(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app}, Type: fleet.SecretTypeBundleDeploymentOptions},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "pull", Labels: copied}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "shared", Labels: copied}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "foreign"}},
	)
	w.configMaps.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "settings", Labels: copied}})
	w.deployments.Add(
		newDeployment(deleting, func(bd *fleet.BundleDeployment) { bd.Spec.Options.DownstreamResources = needs }),
		&fleet.BundleDeployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "other"},
			Spec:       fleet.BundleDeploymentSpec{StagedOptions: fleet.BundleDeploymentOptions{DownstreamResources: needs[1:2]}},
		},
	)
	w.look()
	assert.Nil(t, w.secrets.Live(place, app))
	assert.Nil(t, w.secrets.Live(place, "pull"))
	assert.NotNil(t, w.secrets.Live(place, "shared"), "another deployment needs it")
	assert.NotNil(t, w.secrets.Live(place, "foreign"), "it is no copy")
	assert.Nil(t, w.configMaps.Live(place, "settings"))
	assert.Equal(t, []string{"others"}, w.deployments.Live(place, app).Finalizers)
}

func TestASecretThatTheCacheLacksGoesToo(t *testing.T) {
	w := newWorld(t)
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app}, Type: fleet.SecretTypeBundleDeploymentOptions})
	w.secrets.Hide(place, app)
	w.deployments.Add(newDeployment(deleting, func(bd *fleet.BundleDeployment) { bd.Spec.ValuesHash = "x" }))
	w.look()
	assert.Nil(t, w.secrets.Live(place, app))
}

func TestASecretOfAnotherTypeStays(t *testing.T) {
	w := newWorld(t)
	w.secrets.Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app}, Type: corev1.SecretTypeOpaque})
	w.deployments.Add(newDeployment(deleting))
	w.look()
	assert.NotNil(t, w.secrets.Live(place, app))
}

func TestACopyStaysThatADeploymentNeedsWhichTheCacheLacks(t *testing.T) {
	needs := fleet.BundleDeploymentOptions{DownstreamResources: []fleet.DownstreamResource{{Kind: "ConfigMap", Name: "settings"}}}
	w := newWorld(t)
	w.configMaps.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "settings", Labels: map[string]string{deployment.CopyLabel: "true"}}})
	w.deployments.Add(
		newDeployment(deleting, func(bd *fleet.BundleDeployment) { bd.Spec.Options = needs }),
		&fleet.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: "renamed"}, Spec: fleet.BundleDeploymentSpec{Options: needs}},
	)
	w.deployments.Hide(place, "renamed")
	w.look()
	assert.NotNil(t, w.configMaps.Live(place, "settings"))
}

// A copy may have any type: it is not for the deployment whose name it happens to have to remove it.
func TestACopyIsNotTakenForTheValues(t *testing.T) {
	w := newWorld(t)
	w.secrets.Add(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: place, Name: app, Labels: map[string]string{deployment.CopyLabel: "true"}},
		Type:       fleet.SecretTypeBundleDeploymentOptions,
	})
	w.deployments.Add(newDeployment(deleting))
	w.look()
	assert.NotNil(t, w.secrets.Live(place, app))
}
