package kube

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/rancher/wrangler/v3/pkg/merr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/rancher/fleet/pkg/kube/kubetest"
)

const agentSet = "fleet-agent-bootstrap"

var agentKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Namespace"),
	corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	corev1.SchemeGroupVersion.WithKind("Secret"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	rbacv1.SchemeGroupVersion.WithKind("ClusterRole"),
}

func downstream(t *testing.T, server *kubetest.Server) *Downstream {
	t.Helper()
	d, err := NewDownstream(server.Config())
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

func configMap(namespace, name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"k": value}}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// The agent's bundle has the same set ID and takes the objects over by the hash of it.
func TestADownstreamSetIsKnownByTheHashOfItsID(t *testing.T) {
	server := kubetest.New(t)

	require.NoError(t, downstream(t, server).ApplySet(testContext(t), agentSet, agentKinds, namespace("agent"), configMap("agent", "config", "1")))

	sum := sha1.Sum([]byte(agentSet))
	got := server.Object("ConfigMap", "agent", "config")
	assert.Equal(t, hex.EncodeToString(sum[:]), got.GetLabels()["objectset.rio.cattle.io/hash"])
	assert.Equal(t, agentSet, got.GetAnnotations()["objectset.rio.cattle.io/id"])
	assert.Empty(t, got.GetOwnerReferences())
	assert.NotContains(t, got.GetAnnotations(), "objectset.rio.cattle.io/owner-name")
}

func TestADownstreamSetIsCorrectedPrunedAndThenSilent(t *testing.T) {
	server := kubetest.New(t)
	d := downstream(t, server)
	ctx := testContext(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	require.NoError(t, d.ApplySet(ctx, agentSet, agentKinds, namespace("agent"), configMap("agent", "config", "1"), configMap("agent", "old", "1"), role))

	require.NoError(t, d.ApplySet(ctx, agentSet, agentKinds, namespace("agent"), configMap("agent", "config", "2"), role))
	assert.Nil(t, server.Object("ConfigMap", "agent", "old"))
	value, _, _ := unstructured.NestedString(server.Object("ConfigMap", "agent", "config").Object, "data", "k")
	assert.Equal(t, "2", value)

	server.Reset()
	require.NoError(t, d.ApplySet(ctx, agentSet, agentKinds, namespace("agent"), configMap("agent", "config", "2"), role))
	assert.Empty(t, server.Writes())

	require.NoError(t, d.ApplySet(ctx, agentSet, agentKinds, namespace("other"), configMap("agent", "config", "2"), role))
	assert.NotNil(t, server.Object("Namespace", "", "agent"), "a namespace is never removed")
}

// Per set the engine allows one pass a second and lets the worker wait: 13 passes took three seconds.
func TestDownstreamPassesAreNotRateLimited(t *testing.T) {
	d := downstream(t, kubetest.New(t))
	ctx := testContext(t)
	begin := time.Now()
	for range 40 {
		require.NoError(t, d.ApplySet(ctx, "some-set", agentKinds, configMap("agent", "config", "1")))
	}
	assert.Less(t, time.Since(begin), 10*time.Second, "40 passes took half a minute at one a second after ten")
}

func TestADownstreamSetRefuses(t *testing.T) {
	d := downstream(t, kubetest.New(t))
	full := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "agent", Name: "s"}, Data: map[string][]byte{"token": []byte("x")}}
	for name, test := range map[string]struct {
		set  string
		objs []runtime.Object
		says string
	}{
		"no ID":              {"", []runtime.Object{namespace("a")}, "ID"},
		"no object":          {agentSet, nil, "at least one object"},
		"an undeclared kind": {agentSet, []runtime.Object{&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "r"}}}, "declare it"},
		"a secret with data": {agentSet, []runtime.Object{full}, "written directly"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, d.ApplySet(testContext(t), test.set, agentKinds, test.objs...), test.says)
		})
	}
}

func TestADownstreamClientLeavesNothingBehind(t *testing.T) {
	server := kubetest.New(t)
	before := goleak.IgnoreCurrent()
	cfg := &rest.Config{Host: server.URL, Transport: &http.Transport{}}
	d, err := NewDownstream(cfg)
	require.NoError(t, err)
	require.NoError(t, d.ApplySet(testContext(t), agentSet, agentKinds, configMap("agent", "config", "1")))

	d.Close()
	server.Disconnect()

	goleak.VerifyNone(t, before)
}

func TestADownstreamSetEndsWithItsContext(t *testing.T) {
	server := kubetest.New(t)
	server.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			server.Hang(r)
			return true
		}
		return false
	})
	cfg := server.Config()
	WithCallTimeout(cfg, 200*time.Millisecond)
	d, err := NewDownstream(cfg)
	require.NoError(t, err)
	defer d.Close()

	assert.Error(t, d.ApplySet(testContext(t), agentSet, agentKinds, configMap("agent", "config", "1")))
}

func TestIgnoreGoneTakesOutFailedDeletesOnly(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "s")
	gone := fmt.Errorf("failed to delete ns/s Secret for x: %w", notFound)
	patch := fmt.Errorf("failed to update ns/s Secret for x: %w", notFound)
	refused := fmt.Errorf("failed to delete ns/t Secret for x: %w", apierrors.NewForbidden(schema.GroupResource{}, "t", nil))

	assert.NoError(t, IgnoreGone(nil))
	assert.NoError(t, IgnoreGone(gone))
	assert.NoError(t, IgnoreGone(merr.NewErrors(gone, gone)))
	assert.Equal(t, patch, IgnoreGone(patch))
	assert.Equal(t, refused, IgnoreGone(refused))
	assert.Equal(t, patch, IgnoreGone(merr.NewErrors(gone, patch)))
	assert.Equal(t, merr.Errors{patch, refused}, IgnoreGone(merr.NewErrors(patch, gone, refused)))
}

func TestSecretsWithDataAreToldFromThoseWithout(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "s"}
	assert.ErrorIs(t, RefuseSecret(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": nil}}), ErrSecret)
	assert.ErrorIs(t, RefuseSecret(&corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"a": ""}}), ErrSecret)
	assert.ErrorIs(t, RefuseSecret(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": "eA=="}}}), ErrSecret)
	assert.NoError(t, RefuseSecret(&corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken}))
	assert.NoError(t, RefuseSecret(configMap("ns", "c", "v")))
}
