package pods_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/provider"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	controllerPods = "app=fleet-controller"
	agentPods      = "app=fleet-agent"
)

// raise installs everything, as Rancher does first and a person goes on, and tells how long it took.
func raise(t *testing.T) *bed {
	t.Helper()
	b := &bed{hub: open(t, hubName), edge: open(t, edgeName), remote: open(t, remoteName)}
	b.explain(t)
	began := time.Now()
	definitionsOfRancher(t, b.hub)
	b.hub.helm(t, asRancher(t, "fleet-crd", nil)...)
	t.Logf("took: %s to the definitions", since(began))
	// At first Rancher knows no address, and registers no cluster itself.
	b.install(t, map[string]any{
		"apiServerURL": "", "apiServerCA": "", "agentTLSMode": "strict",
		"bootstrap":   map[string]any{"enabled": false, "agentNamespace": stage.LocalAgentNamespace},
		"global":      map[string]any{"cattle": map[string]any{"systemDefaultRegistry": "", "imagePullSecrets": nil}},
		"gitops":      map[string]any{"enabled": true},
		"image":       map[string]any{"tag": oldVersion},
		"agentImage":  map[string]any{"tag": oldVersion},
		"tolerations": []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}},
	})
	t.Logf("took: %s to a hub without an address that is Ready", since(began))
	b.install(t, b.with(map[string]any{
		"apiServerURL": b.hub.front.URL, "apiServerCA": string(b.hub.front.CA),
		"bootstrap":    map[string]any{"enabled": true, "agentNamespace": stage.LocalAgentNamespace},
		"agentUpgrade": map[string]any{"maxUnavailable": "100%", "soak": "0s"},
	}))
	t.Logf("took: %s to the hub with its address", since(began))
	b.importEdge(t)
	b.joinRemote(t)
	for _, c := range b.clusters() {
		c.connected(t)
		t.Logf("took: %s to cluster %s being Ready", since(began), c.name)
	}
	return b
}

// open makes clients for a cluster of the provider.
func open(t *testing.T, name string) *site {
	t.Helper()
	cluster, err := stage.Reach(name, made[name].KubernetesRestConfig())
	require.NoError(t, err)
	front, err := made[name].Front(t.Context())
	require.NoError(t, err)
	return &site{Cluster: cluster, provided: made[name], front: front}
}

// definitionsOfRancher are made before the chart is there, marked for Helm to take over.
func definitionsOfRancher(t *testing.T, hub *site) {
	t.Helper()
	for plural, kind := range map[string]string{"bundles": "Bundle", "clusters": "Cluster", "clustergroups": "ClusterGroup", "helmops": "HelmOp"} {
		definition := map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{
				"name":        plural + ".fleet.cattle.io",
				"labels":      map[string]any{"app.kubernetes.io/managed-by": "Helm"},
				"annotations": map[string]any{"meta.helm.sh/release-name": "fleet-crd", "meta.helm.sh/release-namespace": stage.SystemNamespace},
			},
			"spec": map[string]any{
				"group": "fleet.cattle.io", "scope": "Namespaced",
				"names": map[string]any{"plural": plural, "kind": kind},
				"versions": []any{map[string]any{
					"name": "v1alpha1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				}},
			},
		}
		_, err := hub.Dynamic.Resource(stage.Definitions).Create(t.Context(), &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

// importEdge registers a cluster by its kubeconfig.
func (b *bed) importEdge(t *testing.T) {
	t.Helper()
	b.namespace(t, b.hub, stage.Workspace)
	kubeconfig, err := provider.InsideKubeconfig(b.edge.Config, b.edge.front)
	require.NoError(t, err)
	_, err = b.hub.Kube.CoreV1().Secrets(stage.Workspace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, stage.Create(t.Context(), b.hub.Cluster, stage.Clusters, "Cluster", stage.Workspace, &fleet.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: stage.Workspace, Labels: map[string]string{"env": "edge"}},
		Spec:       fleet.ClusterSpec{KubeConfigSecret: "edge-kubeconfig"},
	}))
}

// joinRemote registers a cluster by a token that does not pass through Helm.
func (b *bed) joinRemote(t *testing.T) {
	t.Helper()
	values := b.newToken(t, "remote")
	content, err := yaml.Marshal(values)
	require.NoError(t, err)
	b.namespace(t, b.remote, stage.SystemNamespace)
	_, err = b.remote.Kube.CoreV1().Secrets(stage.SystemNamespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: names.AgentBootstrapSecret}, Data: map[string][]byte{"values": content},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	out := b.remote.helm(t, "install", "fleet-agent", chart(t, "fleet-agent"), "--namespace", stage.SystemNamespace, "--wait", "--timeout=300s",
		"--set", "existingSecret="+names.AgentBootstrapSecret, "--set", "agentTLSMode=strict", "--set", "image.tag="+oldVersion,
		"--set-string", "labels.env=remote")
	assert.NotContains(t, out, values["token"], "the token is nowhere to be seen")
}

// newToken are the values of a token for the cluster remote.
func (b *bed) newToken(t *testing.T, name string) map[string]any {
	t.Helper()
	hub := &stage.Stage{Hub: b.hub.Cluster}
	values, err := hub.NewToken(stage.Until(t, patience), stage.Workspace, name, fleet.ClusterRegistrationTokenSpec{
		ClusterName: "remote", TTL: &metav1.Duration{Duration: time.Hour},
	})
	require.NoError(t, err)
	return values
}

func (b *bed) namespace(t *testing.T, s *site, name string) {
	t.Helper()
	require.NoError(t, (&stage.Stage{Hub: s.Cluster}).EnsureNamespace(t.Context(), name))
}

// From nothing to three clusters Ready, which came in the three ways there are. The times are in the log.
func TestFromHelmInstallToThreeClustersReady(t *testing.T) {
	b := theBed(t)
	for _, c := range b.clusters() {
		agent := c.at.onlyPod(t, c.agents, agentPods)
		assert.Len(t, agent.Spec.Containers, 1, "Rancher counts on one")
		assert.Zero(t, restarts(agent))
		assert.Equal(t, "rancher/fleet-agent:"+oldVersion, agent.Spec.Containers[0].Image)
	}
	secrets, err := b.remote.Kube.CoreV1().Secrets(stage.SystemNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, secret := range secrets.Items {
		assert.NotEqual(t, names.AgentBootstrapSecret, secret.Name, "the agent has dropped what it registered with")
	}
}

// Rancher installs the same again whenever it likes.
func TestTheSameInstallAgainRestartsNothing(t *testing.T) {
	b := theBed(t)
	look := func() map[string]string {
		out := map[string]string{"hub": string(b.hub.onlyPod(t, stage.SystemNamespace, controllerPods).UID)}
		for _, c := range b.clusters() {
			out[c.name] = string(c.at.onlyPod(t, c.agents, agentPods).UID)
		}
		return out
	}
	before := look()
	b.hub.helm(t, asRancher(t, "fleet-crd", nil)...)
	b.install(t, b.values)
	b.hub.helm(t, asRancher(t, "fleet-crd", nil)...)
	b.install(t, b.values)
	time.Sleep(10 * time.Second) // an observation window: nothing is seen to be replaced
	assert.Equal(t, before, look())
}

func TestHelmTestPasses(t *testing.T) {
	b := theBed(t)
	out := b.hub.helm(t, "test", "fleet", "--namespace", stage.SystemNamespace, "--logs", "--timeout=120s")
	assert.Contains(t, out, "Succeeded")
	out = b.remote.helm(t, "test", "fleet-agent", "--namespace", stage.SystemNamespace, "--logs", "--timeout=120s")
	assert.Contains(t, out, "Succeeded")
}

// A hub that does not work fails the test, with a reason.
func TestHelmTestFailsWhereThereIsNoLeader(t *testing.T) {
	b := theBed(t)
	deployments := b.hub.Kube.AppsV1().Deployments(stage.SystemNamespace)
	scale := func(ctx context.Context, to int32) {
		s, err := deployments.GetScale(ctx, names.ControllerDeployment, metav1.GetOptions{})
		require.NoError(t, err)
		s.Spec.Replicas = to
		_, err = deployments.UpdateScale(ctx, names.ControllerDeployment, s, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	t.Cleanup(func() { scale(context.WithoutCancel(t.Context()), 1) }) // also where the test has failed: the others need the hub
	scale(t.Context(), 0)
	await(t, "no controller", func(ctx context.Context) (bool, string, error) {
		pods, err := b.hub.pods(ctx, stage.SystemNamespace, controllerPods)
		return len(pods) == 0, describe(pods), err
	})
	out, err := b.hub.tryHelm(t, "test", "fleet", "--namespace", stage.SystemNamespace, "--logs", "--timeout=180s")
	assert.Error(t, err)
	assert.Contains(t, out, "fleet-controller-lock")
	scale(t.Context(), 1)
	b.hub.onlyPod(t, stage.SystemNamespace, controllerPods)
}
