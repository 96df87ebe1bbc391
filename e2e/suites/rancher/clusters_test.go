package rancher_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/fleet/e2e/rancher"
	"github.com/rancher/fleet/e2e/stage"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// get reads a cluster as Rancher knows it.
func (b *bed) get(t *testing.T, p rancher.Provisioned) *fleet.Cluster {
	t.Helper()
	c, err := stage.Get[fleet.Cluster](t.Context(), b.Hub, stage.Clusters, p.Workspace, p.Name)
	require.NoError(t, err)
	require.NotNil(t, c)
	return c
}

// patch is a merge patch of a Cluster, such as the user interface sends.
func (b *bed) patch(t *testing.T, p rancher.Provisioned, patch string) {
	t.Helper()
	_, err := b.Hub.Dynamic.Resource(stage.Clusters).Namespace(p.Workspace).Patch(t.Context(), p.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
}

// agent is the Deployment of an agent.
func agent(t *testing.T, at *stage.Cluster, namespace string) *appsv1.Deployment {
	t.Helper()
	d, err := at.Kube.AppsV1().Deployments(namespace).Get(t.Context(), "fleet-agent", metav1.GetOptions{})
	require.NoError(t, err)
	return d
}

// The agent is where and as Rancher expects it, and the Cluster has what the user interface looks for.
func TestAgentsAreAsRancherLooksForThem(t *testing.T) {
	b := theBed(t)
	for _, one := range []struct {
		rancher.Provisioned
		at        *stage.Cluster
		namespace string
	}{{b.local, b.Hub, stage.LocalAgentNamespace}, {b.downstream, b.edge, stage.SystemNamespace}} {
		await(t, one.Name+" has its bundles", func(context.Context) (bool, string, error) {
			c := b.get(t, one.Provisioned)
			done := c.Status.Summary.Ready > 0 && c.Status.Summary.Ready == c.Status.Summary.DesiredReady && c.Status.Display.State == ""
			return done, fmt.Sprintf("%+v %+v", c.Status.Summary, c.Status.Display), nil
		})
		c := b.get(t, one.Provisioned)
		assert.Equal(t, one.namespace, c.Status.Agent.Namespace)
		assert.False(t, c.Status.Agent.LastSeen.IsZero())
		assert.NotEmpty(t, c.Spec.ClientID)
		assert.Equal(t, one.Management, c.Labels["management.cattle.io/cluster-name"])
		assert.Equal(t, "edge", c.Annotations["owner.example.com/team"])
		d := agent(t, one.at, one.namespace)
		pod := d.Spec.Template
		assert.Equal(t, "fleet-agent", pod.Labels["app"])
		assert.Len(t, pod.Spec.Containers, 1)
		assert.NotEmpty(t, pod.Spec.Tolerations)
		assert.True(t, equality.Semantic.DeepEqual(c.Spec.AgentAffinity, pod.Spec.Affinity), "%v", pod.Spec.Affinity)
		assert.Empty(t, pod.Spec.ImagePullSecrets, "an empty list means none")
	}
}

// The marks of Rancher's set are on its own objects alone: whatever else had them would be pruned.
func TestMarksOfRanchersSetsAreNotCopied(t *testing.T) {
	b := theBed(t)
	own := 0
	for _, kind := range []string{"clusters", "clustergroups", "bundles", "bundledeployments", "clusterregistrations", "clusterregistrationtokens", "contents"} {
		list, err := b.Hub.Dynamic.Resource(fleet.SchemeGroupVersion.WithResource(kind)).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, u := range list.Items {
			switch marked := u.GetAnnotations()["objectset.rio.cattle.io/id"] == rancher.SetID; {
			case kind == "clusters" || kind == "clustergroups":
				if marked {
					own++
					assert.NotEmpty(t, u.GetLabels()["objectset.rio.cattle.io/hash"], u.GetName())
					assert.NotEmpty(t, u.GetAnnotations()["objectset.rio.cattle.io/applied"], u.GetName())
				}
			default:
				assert.False(t, marked, "%s %s/%s", kind, u.GetNamespace(), u.GetName())
			}
		}
	}
	assert.GreaterOrEqual(t, own, 3, "two Clusters and a ClusterGroup")
}

// Nobody writes labels of Pod Security, and what Rancher notes on a namespace stays.
func TestNamespacesKeepWhatRancherNotes(t *testing.T) {
	b := theBed(t)
	const project = "field.cattle.io/projectId"
	theirs := []string{b.get(t, b.downstream).Status.Namespace, stage.Workspace, stage.RegistrationNamespace, stage.SystemNamespace}
	for _, name := range theirs {
		_, err := b.Hub.Kube.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+project+`":"local:p-1"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	b.patch(t, b.downstream, `{"spec":{"redeployAgentGeneration":`+fmt.Sprint(b.get(t, b.downstream).Spec.RedeployAgentGeneration+1)+`}}`)
	b.awaitRedeployed(t, b.downstream)
	for _, name := range theirs {
		ns, err := b.Hub.Kube.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		assert.Equal(t, "local:p-1", ns.Annotations[project], name)
	}
	for _, c := range []*stage.Cluster{b.Hub, b.edge} {
		list, err := c.Kube.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, ns := range list.Items {
			for label := range ns.Labels {
				assert.False(t, strings.HasPrefix(label, "pod-security.kubernetes.io/"), "%s has %s", ns.Name, label)
			}
		}
	}
}

// awaitRedeployed waits until the hub has deployed an agent as asked for, and the agent is connected.
func (b *bed) awaitRedeployed(t *testing.T, p rancher.Provisioned) {
	t.Helper()
	_, err := b.AwaitCluster(stage.Until(t, patience), p.Workspace, p.Name, "the agent was deployed anew", func(c *fleet.Cluster) bool {
		deployed := c.Status.AgentDeployedGeneration
		return deployed != nil && *deployed == c.Spec.RedeployAgentGeneration && stage.Connected(c)
	})
	require.NoError(t, err)
}

// Rancher writes whole objects again and again. What it does not set stays, and no second writer of the spec moves it to
// write once more.
func TestWhatRancherDoesNotSetStays(t *testing.T) {
	b := theBed(t)
	before := b.get(t, b.downstream)
	b.patch(t, b.downstream, `{"spec":{"templateValues":{"site":"berlin"},"hostNetwork":false}}`)
	changed := b.downstream
	changed.Labels = map[string]string{"env": "prod", "ring": "one"}
	changed.Tolerations = []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpEqual, Value: "true", Effect: corev1.TaintEffectNoSchedule}}
	changed.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}}
	changed.Scheduling = map[string]any{} // some layers of Rancher write it so
	b.join(t, changed)
	b.awaitAgent(t, func(pod corev1.PodSpec) bool {
		return equality.Semantic.DeepEqual(pod.Containers[0].Resources, *changed.Resources) && tolerates(pod, "edge")
	})
	after := b.get(t, b.downstream)
	assert.Equal(t, before.UID, after.UID)
	assert.Equal(t, before.Spec.ClientID, after.Spec.ClientID)
	require.NotNil(t, after.Spec.TemplateValues)
	assert.Equal(t, map[string]any{"site": "berlin"}, after.Spec.TemplateValues.Data)
	assert.NotNil(t, after.Spec.HostNetwork)
	assert.Equal(t, "one", after.Labels["ring"])

	require.NoError(t, b.rancher.WriteCluster(t.Context(), changed))
	assert.Equal(t, after.Generation, b.get(t, b.downstream).Generation, "the same again writes nothing")

	b.join(t, b.downstream)
	b.awaitAgent(t, func(pod corev1.PodSpec) bool {
		return len(pod.Containers[0].Resources.Requests) == 0 && !tolerates(pod, "edge") && len(pod.Tolerations) > 0
	})
	assert.Equal(t, before.Spec.ClientID, b.get(t, b.downstream).Spec.ClientID)
}

func (b *bed) awaitAgent(t *testing.T, done func(corev1.PodSpec) bool) {
	t.Helper()
	await(t, "the agent is as Rancher wants it", func(context.Context) (bool, string, error) {
		d := agent(t, b.edge, stage.SystemNamespace)
		rolled := d.Status.UpdatedReplicas == 1 && d.Status.ReadyReplicas == 1 && d.Status.ObservedGeneration == d.Generation
		pod := d.Spec.Template.Spec
		return rolled && done(pod), fmt.Sprintf("%v %v", pod.Containers[0].Resources, pod.Tolerations), nil
	})
}

func tolerates(pod corev1.PodSpec, key string) bool {
	for _, one := range pod.Tolerations {
		if one.Key == key {
			return true
		}
	}
	return false
}
