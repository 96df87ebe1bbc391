package nodes_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

func TestADeploymentSpreadsAndOutlivesAKubelet(t *testing.T) {
	t.Parallel() // it waits, mostly
	c := hub(t)
	namespace(t, c, "spread", nil)
	_, err := c.Kube.AppsV1().Deployments("spread").Create(t.Context(), spreadDeployment(), metav1.CreateOptions{})
	require.NoError(t, err)
	before := awaitReadyPods(t, c, 2)
	require.NotEqual(t, before[0].Spec.NodeName, before[1].Spec.NodeName)

	lost := before[0].Spec.NodeName
	require.NoError(t, c.StopKubelet(t.Context(), lost))
	awaitNode(t, c, lost, corev1.ConditionUnknown)
	require.NoError(t, c.StartKubelet(t.Context(), lost))
	awaitNode(t, c, lost, corev1.ConditionTrue)
	after := awaitReadyPods(t, c, 2)
	for i := range after {
		require.Equal(t, before[i].UID, after[i].UID)
		require.Zero(t, after[i].Status.ContainerStatuses[0].RestartCount)
	}
}

// A node that was off comes back with its images and its Pods, and one that has never been off follows a new authority.
func TestANodeComesBack(t *testing.T) {
	t.Parallel() // it waits, mostly
	lab.NeedNodes(t)
	c := attach(t, lab.New(t, lab.WithNodes(1)))
	namespace(t, c, "back", nil)
	pod := podOf("back", "steady", "serve")
	pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
	create(t, c, pod)
	before := awaitPod(t, c, "back", "steady", corev1.PodRunning)

	require.NoError(t, c.StopNode(t.Context(), "node-1"))
	awaitNode(t, c, "node-1", corev1.ConditionUnknown)
	require.NoError(t, c.StartNode(t.Context(), "node-1"))
	stage.AwaitWithin(t, patience, "the Pod to run again", func(ctx context.Context) (bool, string, error) {
		pod, err := c.Kube.CoreV1().Pods("back").Get(ctx, "steady", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return pod.UID == before.UID && isReady(pod) && pod.Status.ContainerStatuses[0].RestartCount == 1, describe(pod), nil
	})

	require.NoError(t, c.RotateServingCA(t.Context()))
	c = attach(t, c.ControlPlane)
	stage.AwaitWithin(t, patience, "the new authority to reach the namespace", func(ctx context.Context) (bool, string, error) {
		root, err := c.Kube.CoreV1().ConfigMaps("back").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && root.Data["ca.crt"] == string(c.CA()), "", err
	})
	require.Contains(t, reaches(t, c, podOf("back", "reader", "reach")), "as system:serviceaccount:back:default")
}

// spreadDeployment is two Pods on two nodes, with a probe that the kubelet has to reach them for.
func spreadDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "spread"}
	pod := podOf("spread", "spread", "serve").Spec
	pod.RestartPolicy = corev1.RestartPolicyAlways
	pod.Containers[0].ReadinessProbe = &corev1.Probe{
		PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080)}},
	}
	pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}},
	}}}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "spread"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}

func awaitReadyPods(t *testing.T, c *stage.Cluster, count int) []corev1.Pod {
	t.Helper()
	var pods *corev1.PodList
	stage.AwaitWithin(t, patience, fmt.Sprintf("%d Pods to be Ready", count), func(ctx context.Context) (bool, string, error) {
		found, err := c.Kube.CoreV1().Pods("spread").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		pods = found
		ready, seen := 0, ""
		for i := range found.Items {
			seen += describe(&found.Items[i]) + "\n"
			if isReady(&found.Items[i]) {
				ready++
			}
		}
		return ready == count && len(found.Items) == count, seen, nil
	})
	return pods.Items
}

func awaitNode(t *testing.T, c *stage.Cluster, name string, ready corev1.ConditionStatus) {
	t.Helper()
	stage.AwaitWithin(t, patience, fmt.Sprintf("%s to have Ready=%s", name, ready), func(ctx context.Context) (bool, string, error) {
		node, err := c.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition.Status == ready, string(condition.Status) + " " + condition.Message, nil
			}
		}
		return false, "no such condition", nil
	})
}
