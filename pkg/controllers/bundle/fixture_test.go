package bundle

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/controllers/controllertest"
	"github.com/rancher/fleet/pkg/names"
)

const (
	workspace = "ws"
	app       = "app"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a hub in memory.
type world struct {
	t            *testing.T
	h            *handler
	clock        *clocktesting.FakePassiveClock
	bundles      *controllertest.Controller[*fleet.Bundle, *fleet.BundleList]
	deployments  *controllertest.Controller[*fleet.BundleDeployment, *fleet.BundleDeploymentList]
	contents     *controllertest.ClusterController[*fleet.Content, *fleet.ContentList]
	clusters     *controllertest.Controller[*fleet.Cluster, *fleet.ClusterList]
	groups       *controllertest.Controller[*fleet.ClusterGroup, *fleet.ClusterGroupList]
	mappings     *controllertest.Controller[*fleet.BundleNamespaceMapping, *fleet.BundleNamespaceMappingList]
	restrictions *controllertest.Controller[*fleet.GitRepoRestriction, *fleet.GitRepoRestrictionList]
	namespaces   *controllertest.ClusterController[*corev1.Namespace, *corev1.NamespaceList]
	secrets      *controllertest.Controller[*corev1.Secret, *corev1.SecretList]
	configMaps   *controllertest.Controller[*corev1.ConfigMap, *corev1.ConfigMapList]

	lock  sync.Mutex
	calls []string
	// fail answers calls by kind, verb and key.
	fail func(kind, verb, key string) error
	// definition is that of Bundles, nil where there is none.
	definition *metav1.PartialObjectMetadata
}

const group = "fleet.cattle.io"

func newWorld(t *testing.T) *world {
	w := &world{
		t:            t,
		clock:        clocktesting.NewFakePassiveClock(now),
		bundles:      controllertest.New[*fleet.Bundle, *fleet.BundleList](group, "bundles"),
		deployments:  controllertest.New[*fleet.BundleDeployment, *fleet.BundleDeploymentList](group, "bundledeployments"),
		contents:     controllertest.NewCluster[*fleet.Content, *fleet.ContentList](group, "contents"),
		clusters:     controllertest.New[*fleet.Cluster, *fleet.ClusterList](group, "clusters"),
		groups:       controllertest.New[*fleet.ClusterGroup, *fleet.ClusterGroupList](group, "clustergroups"),
		mappings:     controllertest.New[*fleet.BundleNamespaceMapping, *fleet.BundleNamespaceMappingList](group, "bundlenamespacemappings"),
		restrictions: controllertest.New[*fleet.GitRepoRestriction, *fleet.GitRepoRestrictionList](group, "gitreporestrictions"),
		namespaces:   controllertest.NewCluster[*corev1.Namespace, *corev1.NamespaceList]("", "namespaces"),
		secrets:      controllertest.New[*corev1.Secret, *corev1.SecretList]("", "secrets"),
		configMaps:   controllertest.New[*corev1.ConfigMap, *corev1.ConfigMapList]("", "configmaps"),
	}
	w.bundles.Fail, w.deployments.Fail = w.called("bundle"), w.called("deployment")
	w.contents.Fail, w.clusters.Fail = w.called("content"), w.called("cluster")
	w.secrets.Fail, w.configMaps.Fail = w.called("secret"), w.called("configmap")
	w.groups.Fail = w.called("group")
	w.h = newHandler(Deps{
		Bundles: w.bundles, Deployments: w.deployments, Contents: w.contents, Clusters: w.clusters, Groups: w.groups,
		Mappings: w.mappings, Restrictions: w.restrictions, Namespaces: w.namespaces, Secrets: w.secrets,
		ConfigMaps: w.configMaps, Sources: sources{w.configMaps}, Clock: w.clock,
		Definition: func(context.Context) (*metav1.PartialObjectMetadata, error) { return w.definition, nil },
	})
	w.definition = &metav1.PartialObjectMetadata{}
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workspace}})
	w.h.addIndexers()
	return w
}

// sources reads ConfigMaps from the cache.
type sources struct {
	*controllertest.Controller[*corev1.ConfigMap, *corev1.ConfigMapList]
}

func (s sources) Get(namespace, name string) (*corev1.ConfigMap, error) {
	return s.Cache().Get(namespace, name)
}

func (s sources) OnChange(context.Context, func(namespace, name string)) {}

// called notes every call to the API server, in their order, reads too.
func (w *world) called(kind string) func(verb, key string) error {
	return func(verb, key string) error {
		w.lock.Lock()
		defer w.lock.Unlock()
		w.calls = append(w.calls, verb+" "+kind+" "+key)
		if w.fail != nil {
			return w.fail(kind, verb, key)
		}
		return nil
	}
}

func (w *world) takeCalls() []string {
	w.lock.Lock()
	defer w.lock.Unlock()
	calls := w.calls
	w.calls = nil
	return calls
}

func placeOf(cluster string) string { return names.ClusterNamespace(workspace, cluster) }

// addCluster adds a Cluster and its namespace.
func (w *world) addCluster(name string, labels map[string]string, change ...func(*fleet.Cluster)) *fleet.Cluster {
	c := &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: name, UID: types.UID("uid-" + name), Labels: labels},
		Status:     fleet.ClusterStatus{Namespace: placeOf(name)},
	}
	for _, f := range change {
		f(c)
	}
	w.clusters.Add(c)
	w.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: placeOf(name), Annotations: map[string]string{
		names.ClusterNamespaceAnnotation: workspace, names.ClusterAnnotation: name,
	}}})
	return c
}

// relabel changes the labels of a Cluster, and tells the handler.
func (w *world) relabel(name string, labels map[string]string) {
	before := w.clusters.Live(workspace, name)
	after := before.DeepCopy()
	after.Labels = labels
	w.clusters.Add(after)
	w.h.onCluster(before, w.clusters.Live(workspace, name))
}

func newBundle(change ...func(*fleet.Bundle)) *fleet.Bundle {
	b := &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: workspace, Name: app, UID: "uid-of-app", Generation: 1, Finalizers: []string{names.BundleFinalizer}},
		Spec: fleet.BundleSpec{
			Resources: []fleet.BundleResource{{Name: "cm.yaml", Content: "kind: ConfigMap"}},
			Targets:   []fleet.BundleTarget{{ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}}},
		},
	}
	for _, f := range change {
		f(b)
	}
	return b
}

var prod = map[string]string{"env": "prod"}

func withValues(b *fleet.Bundle) {
	b.Spec.Helm = &fleet.HelmOptions{Values: &fleet.GenericMap{Data: map[string]any{"password": "canary"}}}
}

// look has the handler look at the bundle once.
func (w *world) look() error {
	b := w.bundles.Live(workspace, app)
	if cached, err := w.bundles.Cache().Get(workspace, app); err == nil {
		b = cached
	}
	_, err := w.h.onChange(workspace+"/"+app, b)
	return err
}

func (w *world) mustLook() {
	w.t.Helper()
	require.NoError(w.t, w.look())
}

func (w *world) deployment(cluster string) *fleet.BundleDeployment {
	return w.deployments.Live(placeOf(cluster), app)
}

// agentsReport has all agents apply what they are told to.
func (w *world) agentsReport() {
	list, err := w.deployments.List("", metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range list.Items {
		bd := &list.Items[i]
		bd.Status.AppliedDeploymentID, bd.Status.Ready, bd.Status.NonModified = bd.Spec.DeploymentID, true, true
		w.deployments.Add(bd)
	}
}

func (w *world) status() fleet.BundleStatus { return w.bundles.Live(workspace, app).Status }

func (w *world) readyMessage() string {
	for _, c := range w.status().Conditions {
		if c.Type == "Ready" {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return ""
}

// woken says whether the bundle was told to run.
func (w *world) woken() bool {
	_, ok := w.bundles.After(workspace, app)
	return ok
}

func terminating(namespace string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: "bundledeployments"}, app, fmt.Errorf("namespace %s is being terminated", namespace))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}
