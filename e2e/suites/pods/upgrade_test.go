package pods_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

const (
	workloadNamespace = "workload"
	workloadPods      = "app=workload"
)

// deliver brings a Deployment to all clusters of the workspace, and waits until it runs there.
func (b *bed) deliver(t *testing.T) {
	t.Helper()
	workload := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: "workload"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "workload"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "workload"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "workload", Image: workloadImage, ImagePullPolicy: corev1.PullIfNotPresent}}},
			},
		},
	}
	content, err := yaml.Marshal(workload)
	require.NoError(t, err)
	bundle := &fleet.Bundle{ObjectMeta: metav1.ObjectMeta{Name: "workload", Namespace: stage.Workspace}}
	bundle.Spec.TargetNamespace = workloadNamespace
	bundle.Spec.Resources = []fleet.BundleResource{{Name: "workload.yaml", Content: string(content)}}
	bundle.Spec.Targets = []fleet.BundleTarget{{ClusterSelector: &metav1.LabelSelector{}}}
	require.NoError(t, stage.Create(t.Context(), b.hub.Cluster, stage.Bundles, "Bundle", stage.Workspace, bundle))
	b.awaitBundle(t, "workload", "Ready on both clusters", func(bundle *fleet.Bundle) bool {
		return bundle.Status.Summary.Ready == 2 && stage.IsTrue(bundle.Status.Conditions, "Ready")
	})
}

func (b *bed) awaitBundle(t *testing.T, name, what string, done func(*fleet.Bundle) bool) {
	t.Helper()
	await(t, "bundle "+name+": "+what, func(ctx context.Context) (bool, string, error) {
		bundle, err := stage.Get[fleet.Bundle](ctx, b.hub.Cluster, stage.Bundles, stage.Workspace, name)
		if err != nil || bundle == nil {
			return false, "none", err
		}
		return done(bundle), fmt.Sprintf("%+v; %s", bundle.Status.Summary, stage.Conditions(bundle.Status.Conditions)), nil
	})
}

// identities are what must stay as it is: the workload's pods, and who the clusters are to the hub.
func (b *bed) identities(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, s := range []*site{b.edge, b.remote} {
		pod := s.onlyPod(t, workloadNamespace, workloadPods)
		out[s.Name+" workload"] = fmt.Sprint(pod.UID, " ", restarts(pod))
	}
	for _, c := range b.clusters() {
		object := c.mustObject(t)
		out[c.name] = fmt.Sprint(object.UID, " ", object.Status.Namespace)
		requests, err := stage.List[fleet.ClusterRegistration](t.Context(), b.hub.Cluster, stage.Registrations, c.workspace)
		require.NoError(t, err)
		for _, request := range requests {
			out[c.workspace+" request "+request.Name] = string(request.UID)
		}
	}
	accounts, err := b.hub.Kube.CoreV1().ServiceAccounts(stage.AgentsNamespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, account := range accounts.Items {
		out["account "+account.Name] = string(account.UID)
	}
	return out
}

// to brings hub and agents to a version, and waits until all run it.
func (b *bed) to(t *testing.T, version string) {
	t.Helper()
	b.install(t, b.with(map[string]any{"image": map[string]any{"tag": version}, "agentImage": map[string]any{"tag": version}}))
	hub := b.hub.onlyPod(t, stage.SystemNamespace, controllerPods)
	assert.Equal(t, "rancher/fleet:"+version, hub.Spec.Containers[0].Image)
	for _, c := range b.clusters() {
		c.settle(t, "runs "+version, func(now state) bool { return now.pod.Spec.Containers[0].Image == "rancher/fleet-agent:"+version })
	}
}

// From one version to the next and back, with workloads that run: they are not touched, and no cluster registers again.
func TestAnUpgradeAndADowngradeDisturbNoWorkload(t *testing.T) {
	b := theBed(t)
	b.deliver(t)
	before := b.identities(t)
	for _, version := range []string{newVersion, oldVersion} {
		b.to(t, version)
		b.awaitBundle(t, "workload", "Ready with "+version, func(bundle *fleet.Bundle) bool { return bundle.Status.Summary.Ready == 2 })
		assert.Equal(t, before, b.identities(t), version)
		for _, c := range b.clusters() {
			c.awaitObject(t, "reports "+version, func(object *fleet.Cluster) bool { return object.Status.Agent.Version == version })
		}
	}
}

// An image that is nowhere: the old agents stay, the hub says why, the wave is held, and the next good version goes out.
func TestAnImageThatCannotBePulledIsHeldAndTheNextGoodOneGoesOut(t *testing.T) {
	b := theBed(t)
	good := b.values
	t.Cleanup(func() { b.values = good })
	b.values = b.with(map[string]any{"agentUpgrade": map[string]any{"maxUnavailable": 1, "soak": "0s"}})
	var before []state
	for _, c := range b.clusters() {
		before = append(before, c.now(t))
	}
	b.install(t, b.with(map[string]any{"agentImage": map[string]any{"repository": "fleet-lab/nowhere", "tag": "gone", "imagePullPolicy": "Never"}}))
	// With one place a wave goes no further than its first cluster.
	var first *cluster
	await(t, "a cluster says that its agent's image cannot be had", func(ctx context.Context) (bool, string, error) {
		var seen string
		for _, c := range b.clusters() {
			object, err := c.object(ctx)
			if err != nil {
				return false, "", err
			}
			seen += c.name + ": " + stage.Conditions(object.Status.Conditions) + "\n"
			have := stage.Condition(object.Status.Conditions, fleet.ClusterConditionAgentUpgraded)
			if have != nil && have.Status == corev1.ConditionFalse && (have.Reason == "ImagePull" || have.Reason == "TakenBack") {
				first = c
			}
		}
		return first != nil, seen, nil
	})
	for i, c := range b.clusters() {
		object := c.mustObject(t)
		assert.True(t, stage.Connected(object), "%s: %s", c.name, stage.Conditions(object.Status.Conditions))
		assert.Equal(t, before[i].generation, object.Status.Agent.Generation, "the old agent of %s works on", c.name)
		if c.name != first.name {
			d, err := c.deployment(t.Context())
			require.NoError(t, err)
			assert.Equal(t, before[i].generation, stage.GenerationOf(d.Spec.Template.Spec), "%s waits for its turn", c.name)
		}
	}
	b.values = good
	b.to(t, newVersion)
	first.awaitUpgraded(t, "True", "")
	b.to(t, oldVersion)
}

// An agent that starts and does not reach the hub is not Ready: the old one stays, and tells.
func TestAnAgentThatDoesNotReachTheHubDoesNotTakeOver(t *testing.T) {
	b := theBed(t)
	c := b.imported()
	before := c.now(t)
	service, err := c.at.Kube.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	require.NoError(t, err)
	c.change(t, map[string]any{"agentEnvVars": []any{
		map[string]any{"name": "HTTPS_PROXY", "value": "http://127.0.0.1:9"}, // nobody listens there
		map[string]any{"name": "NO_PROXY", "value": service.Spec.ClusterIP},
	}})
	c.awaitUpgraded(t, "False", "HubUnreachable")
	object := c.mustObject(t)
	assert.True(t, stage.Connected(object), stage.Conditions(object.Status.Conditions))
	assert.Equal(t, before.generation, object.Status.Agent.Generation)
	old, err := c.at.Kube.CoreV1().Pods(c.agents).Get(t.Context(), before.pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.True(t, isReady(*old), "the old agent lives on")

	c.change(t, map[string]any{"agentEnvVars": nil})
	c.settle(t, "as it was", func(now state) bool { return now.generation == before.generation })
	now, err := c.at.Kube.CoreV1().Pods(c.agents).Get(t.Context(), before.pod.Name, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, before.pod.UID, now.UID, "the old pod has never gone")
}
