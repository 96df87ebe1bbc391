// Package drift_test proves on a real API server what pkg/agent/drift says: that a change by hand is seen at once, and
// that what the server, its controllers and its admission make of a manifest is no change.
//
// Objects are created as Helm creates them: the manifest as it is, with the bundle's label.
package drift_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/pkg/agent/drift"
)

const (
	// patience bounds a wait; it is several times what is expected on an idle machine.
	patience = 60 * time.Second
	// userAgent is that of the watches, by which their requests are counted.
	userAgent = "fleet-agent"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

// bed is a cluster with watches on it, and somebody else who changes things there.
type bed struct {
	*drift.Watches
	t       *testing.T
	plane   *lab.ControlPlane
	mapper  meta.ResettableRESTMapper
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	told    chan string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, plane: lab.Shared(t, "drift", lab.WithAudit()), told: make(chan string, 1000)}
	cfg, err := b.plane.RESTConfig()
	require.NoError(t, err)
	found, err := discovery.NewDiscoveryClientForConfig(cfg)
	require.NoError(t, err)
	b.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	b.kube, err = kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	b.dynamic, err = dynamic.NewForConfig(cfg)
	require.NoError(t, err)
	cfg.UserAgent = userAgent
	cluster, err := drift.Connect(cfg, b.mapper)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	b.Watches = drift.Start(ctx, drift.Config{Cluster: cluster, Clock: clock.RealClock{}, Random: rand.Float64,
		Notify: func(name string) { b.told <- name }})
	t.Cleanup(func() {
		cancel()
		b.Wait()
	})
	return b
}

// namespace is a new namespace, gone with the test.
func (b *bed) namespace() string {
	b.t.Helper()
	made, err := b.kube.CoreV1().Namespaces().Create(b.t.Context(), namespaceOf("drift-"), metav1.CreateOptions{})
	require.NoError(b.t, err)
	b.t.Cleanup(func() {
		_ = b.kube.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{})
	})
	return made.Name
}

// release reads a manifest of testdata and gives its objects the label of the bundle.
func (b *bed) release(file, namespace string) drift.Wanted {
	b.t.Helper()
	document, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(b.t, err)
	wanted := drift.Wanted{Release: namespace + "/test:1", Hash: namespace, Namespace: namespace}
	for _, part := range strings.Split(strings.ReplaceAll(string(document), "NAMESPACE", namespace), "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(part))
		require.NoError(b.t, err, part)
		obj := &unstructured.Unstructured{}
		require.NoError(b.t, obj.UnmarshalJSON(raw), part)
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[drift.HashLabel] = wanted.Hash
		obj.SetLabels(labels)
		wanted.Objects = append(wanted.Objects, obj)
	}
	return wanted
}

// resource is where objects of that kind are.
func (b *bed) resource(obj *unstructured.Unstructured, namespace string) dynamic.ResourceInterface {
	b.t.Helper()
	kind := obj.GroupVersionKind()
	var found *meta.RESTMapping
	require.Eventually(b.t, func() (ok bool) {
		var err error
		if found, err = b.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			b.mapper.Reset()
		}
		return err == nil
	}, patience, 200*time.Millisecond, "%s is not served", kind)
	if found.Scope.Name() == meta.RESTScopeNameNamespace {
		return b.dynamic.Resource(found.Resource).Namespace(namespace)
	}
	return b.dynamic.Resource(found.Resource)
}

// install creates the objects of a release as they are.
func (b *bed) install(wanted drift.Wanted) {
	b.t.Helper()
	for _, obj := range wanted.Objects {
		objects := b.resource(obj, wanted.Namespace)
		require.Eventually(b.t, func() bool { // a new kind is not served everywhere at once
			_, err := objects.Create(b.t.Context(), obj.DeepCopy(), metav1.CreateOptions{})
			if err != nil {
				b.t.Logf("%s %s: %v", obj.GetKind(), obj.GetName(), err)
			}
			return err == nil
		}, patience, 500*time.Millisecond)
		b.t.Cleanup(func() { _ = objects.Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}) })
	}
}

func (b *bed) status(wanted drift.Wanted) drift.Result {
	b.t.Helper()
	result, err := b.Status(b.t.Context(), wanted.Hash, wanted)
	require.NoError(b.t, err)
	return result
}

func texts(result drift.Result) (list []string) {
	for _, entry := range result.ModifiedStatus {
		list = append(list, entry.String())
	}
	return list
}
