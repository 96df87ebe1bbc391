package helmdeployer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/content"
	"github.com/rancher/fleet/pkg/helmdeployer/history"
	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const (
	agentNamespace = "cattle-fleet-system"
	appNamespace   = "apps"
)

// world is a cluster with an agent's namespace.
type world struct {
	*kubetest.Server
	t *testing.T

	mu sync.Mutex
	// users are who was impersonated, by "<verb> <path>".
	users map[string]string
	// broken answers requests instead of the server, where it is set.
	broken func(w http.ResponseWriter, r *http.Request) bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	kinds := append(kubetest.HubKinds(),
		served("", "v1", "Service", "services", true),
		served("example.com", "v1", "Widget", "widgets", true),
		served("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false),
		served("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false),
	)
	w := &world{Server: kubetest.New(t, kinds...), t: t, users: map[string]string{}}
	w.Intercept(func(rw http.ResponseWriter, r *http.Request) bool {
		w.mu.Lock()
		w.users[r.Method+" "+r.URL.Path] = r.Header.Get("Impersonate-User")
		broken := w.broken
		w.mu.Unlock()
		return broken != nil && broken(rw, r)
	})
	t.Cleanup(w.Disconnect)
	w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: agentNamespace}})
	return w
}

// put stores a typed object.
func (w *world) put(object runtime.Object) {
	w.t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	require.NoError(w.t, err)
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	w.Put(object)
}

func served(group, version, kind, resource string, namespaced bool) kubetest.Kind {
	return kubetest.Kind{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Resource: resource, Namespaced: namespaced}
}

// breaks answers requests in place of the server until it is given nil.
func (w *world) breaks(fn func(w http.ResponseWriter, r *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = fn
}

func (w *world) userOf(request string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.users[request]
}

// deployer is a new agent on the cluster.
func (w *world) deployer() *Deployer {
	w.t.Helper()
	return w.agent(func(context.Context) ([]byte, error) { return []byte("the agent's key"), nil })
}

// agent is one with a key of its own.
func (w *world) agent(key func(context.Context) ([]byte, error)) *Deployer {
	w.t.Helper()
	d, err := New(Config{REST: w.Config(), Namespace: agentNamespace, Now: time.Now, Key: key})
	require.NoError(w.t, err)
	return d
}

// has says whether an object is there.
func (w *world) has(kind, namespace, name string) bool { return w.Object(kind, namespace, name) != nil }

// states are those of the recorded revisions of a release, oldest first.
func (w *world) states(namespace, name string) []string {
	var all []string
	for revision := 1; revision < 100; revision++ {
		secret := w.Object("Secret", namespace, history.Key(name, revision))
		if secret != nil {
			all = append(all, fmt.Sprintf("%d %s", revision, secret.GetLabels()["status"]))
		}
	}
	return all
}

func (w *world) data(name string) map[string]any {
	w.t.Helper()
	object := w.Object("ConfigMap", appNamespace, name)
	require.NotNil(w.t, object, "configmap %s", name)
	data, _, err := unstructured.NestedMap(object.Object, "data")
	require.NoError(w.t, err)
	return data
}

func file(name, text string) content.File { return content.File{Name: name, Data: []byte(text)} }

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  key: " + value + "\n"
}

// raw is a bundle of plain manifests.
func raw(name string, manifests ...string) Job {
	job := Job{Name: name, ManifestID: "s-1", Options: fleet.BundleDeploymentOptions{DefaultNamespace: appNamespace}}
	for i, manifest := range manifests {
		job.Files = append(job.Files, file(fmt.Sprintf("manifest-%d.yaml", i), manifest))
	}
	return job
}

// chart is a bundle with a chart whose templates are given by name.
func chart(name string, templates map[string]string) Job {
	job := Job{Name: name, ManifestID: "s-1", Options: fleet.BundleDeploymentOptions{DefaultNamespace: appNamespace}}
	job.Files = []content.File{file("Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.2.3\n")}
	for name, text := range templates {
		job.Files = append(job.Files, file(name, text))
	}
	return job
}

func isWrite(r *http.Request) bool { return r.Method != http.MethodGet }

func onPath(r *http.Request, part string) bool { return strings.Contains(r.URL.Path, part) }

// ownerOf is the owner of what raw and chart make.
func ownerOf(bundle string) Owner { return OwnerOf(bundle, raw(bundle).Options, false) }
