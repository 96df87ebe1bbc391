package cases

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

var deployments = fleet.SchemeGroupVersion.WithResource(fleet.BundleDeploymentResourceName)

// fleet runs what a person with all rights types.
func (b *bed) fleet(t *testing.T, words ...string) {
	t.Helper()
	b.types(t, words...)()
}

// types begins what a person with all rights types; the returned function waits for its good end.
func (b *bed) types(t *testing.T, words ...string) (ends func()) {
	t.Helper()
	command := exec.CommandContext(until(t), b.Binary(), words...)
	command.Env = append(os.Environ(), "KUBECONFIG="+b.Hub.Kubeconfig())
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	require.NoError(t, command.Start())
	return func() {
		t.Helper()
		require.NoError(t, command.Wait(), "fleet %s: %s", strings.Join(words, " "), out.String())
	}
}

// stolen is the hub as the agent of a place sees it, and its token: who reads Secrets in its namespace has them.
func (b *bed) stolen(t *testing.T, p place) (*stage.Cluster, string) {
	t.Helper()
	secret, err := b.edge.Kube.CoreV1().Secrets(p.agents).Get(t.Context(), names.AgentCredentialStore, metav1.GetOptions{})
	require.NoError(t, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	require.NoError(t, err)
	hub, err := b.Hub.AsToken("stolen", config.BearerToken)
	require.NoError(t, err)
	return hub, config.BearerToken
}

// openWatch watches the deployments of a namespace for as long as the API server lets it.
func openWatch(t *testing.T, hub *stage.Cluster, namespace string) watch.Interface {
	t.Helper()
	hours := int64(6 * 3600)
	w, err := hub.Dynamic.Resource(deployments).Namespace(namespace).Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &hours})
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

// sees drains a watch for a time, and returns what was told; open says whether it still is.
func sees(w watch.Interface, during time.Duration) (events []watch.Event, open bool) {
	end := time.After(during)
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return events, false
			}
			events = append(events, e)
		case <-end:
			return events, true
		}
	}
}

// deliver makes a bundle of one ConfigMap for one cluster.
func (b *bed) deliver(t *testing.T, p place, name, cluster string) {
	t.Helper()
	require.NoError(t, stage.Create(t.Context(), b.Hub, stage.Bundles, "Bundle", p.workspace, &fleet.Bundle{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.workspace, Name: name},
		Spec: fleet.BundleSpec{
			Resources: []fleet.BundleResource{{Name: "cm.yaml", Content: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n"}},
			Targets:   []fleet.BundleTarget{{ClusterName: cluster}},
		},
	}))
	t.Cleanup(func() {
		err := b.Hub.Dynamic.Resource(stage.Bundles).Namespace(p.workspace).Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("cleaning up: %v", err)
		}
	})
}

// awaitDeployment waits for the deployment of a bundle in a namespace.
func (b *bed) awaitDeployment(t *testing.T, namespace, name string) {
	t.Helper()
	await(t, "deployment "+name+" in "+namespace, func(ctx context.Context) (bool, string, error) {
		bd, err := stage.Get[fleet.BundleDeployment](ctx, b.Hub, deployments, namespace, name)
		return bd != nil, "", err
	})
}

func (b *bed) cluster(t *testing.T, p place, name string) *fleet.Cluster {
	t.Helper()
	c, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, p.workspace, name)
	require.NoError(t, err)
	require.NotNil(t, c)
	return c
}

// A10, A21: access ends for good, a finalizer holds nothing up, and what an open watch still sees is no secret and nothing new.
func TestARevokedClusterLosesItsAccessAndComesBackElsewhere(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	before := b.cluster(t, p, "edge").Status.Namespace
	b.deliver(t, p, "first", "edge")
	b.awaitDeployment(t, before, "first")
	hub, _ := b.stolen(t, p)
	w := openWatch(t, hub, before)
	sees(w, time.Second) // what was there
	request := b.requests(t, p.workspace)[0]
	account := names.Account(request.Name, string(request.UID))
	_, err := b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Patch(t.Context(), account, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":["attack.example/forever"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)

	start := time.Now()
	revoked := b.types(t, "cluster", "revoke", "edge", "-n", p.workspace)
	lists := hub.Dynamic.Resource(deployments).Namespace(before)
	await(t, "the bindings to be out of force", func(ctx context.Context) (bool, string, error) {
		_, err := lists.List(ctx, metav1.ListOptions{})
		return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err), "", nil
	})
	forbidden := time.Since(start)
	revoked()
	await(t, "the token to be nobody's", func(ctx context.Context) (bool, string, error) {
		_, err := lists.List(ctx, metav1.ListOptions{})
		return apierrors.IsUnauthorized(err), "", nil
	})
	t.Logf("after the order: forbidden after %s, unauthorized after %s", forbidden, time.Since(start))
	_, err = b.Hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).Get(t.Context(), account, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)

	// The watch is open still. It sees what people do there, and nothing of the hub's.
	sees(w, time.Second)
	b.deliver(t, p, "second", "edge")
	events, open := sees(w, window) // the window in which nothing may come
	require.True(t, open, "RBAC and the end of an account do not end a watch")
	assert.Empty(t, events, "the hub writes nothing into the namespace of who is revoked")
	_, err = b.Hub.Dynamic.Resource(deployments).Namespace(before).Patch(t.Context(), "first", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"touched":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	events, _ = sees(w, time.Second)
	assert.NotEmpty(t, events, "this is why it matters what is written there")

	start = time.Now()
	b.fleet(t, "cluster", "readmit", "edge", "-n", p.workspace)
	readmitted := time.Since(start)
	after := b.cluster(t, p, "edge").Status.Namespace
	require.NotEqual(t, before, after)
	b.connected(t, p, "edge")
	t.Logf("after the readmission: a new namespace after %s, connected after %s", readmitted, time.Since(start))
	b.awaitDeployment(t, after, "second")
	// Kubernetes takes its time over a namespace in which something had a finalizer.
	toItsEnd := stage.Reduced(t, "the end of the namespace is waited for:", false, true)
	await(t, "the namespace of before to go", func(ctx context.Context) (bool, string, error) {
		ns, err := b.Hub.Kube.CoreV1().Namespaces().Get(ctx, before, metav1.GetOptions{})
		if err != nil {
			return apierrors.IsNotFound(err), "", nil
		}
		return ns.DeletionTimestamp != nil && !toItsEnd, fmt.Sprint(ns.Status.Conditions), nil
	})
	events, _ = sees(w, time.Second)
	for _, e := range events {
		u, ok := e.Object.(*unstructured.Unstructured)
		require.True(t, ok, "%v", e.Object)
		assert.Equal(t, before, u.GetNamespace())
		assert.NotEqual(t, "second", u.GetName(), "what is new is somewhere else")
	}
}

// The one thing that ends an open watch.
func TestCuttingWatchesEndsThemAndLeavesOthersTheirWork(t *testing.T) {
	b, p := shared(t), newPlace()
	b.manage(t, p, "edge")
	b.agent(t, p, "agent-0")
	b.connected(t, p, "edge")
	other := newPlace()
	b.manage(t, other, "other")
	b.agent(t, other, "agent-1")
	b.connected(t, other, "other")
	hub, _ := b.stolen(t, p)
	namespace := b.cluster(t, p, "edge").Status.Namespace
	w := openWatch(t, hub, namespace)

	b.fleet(t, "cluster", "revoke", "edge", "-n", p.workspace)
	_, open := sees(w, time.Second)
	require.True(t, open)
	start := time.Now()
	b.fleet(t, "cluster", "revoke", "edge", "-n", p.workspace, "--cut-watches")
	_, open = sees(w, patience)
	require.False(t, open, "the watch goes on")
	t.Logf("the watch ended %s after the order", time.Since(start))
	_, err := hub.Dynamic.Resource(deployments).Namespace(namespace).Watch(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err), "%v", err)

	b.deliver(t, other, "third", "other")
	await(t, "a bundle to reach the cluster that is not revoked", func(ctx context.Context) (bool, string, error) {
		_, err := b.edge.Kube.CoreV1().ConfigMaps(corev1.NamespaceDefault).Get(ctx, "third", metav1.GetOptions{})
		return err == nil, "", nil
	})
}
