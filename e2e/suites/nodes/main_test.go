// Package nodes_test shows that the lab's nodes are nodes: Pods run and reach the API servers of all control planes, kubelets
// stop and come back, and nothing is left of any of it.
package nodes_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

// patience bounds a wait; it is several times what is expected on an idle machine.
const patience = 3 * time.Minute

// starterVariable makes this program one that starts a control plane with a node, in the folder that it names, and waits.
const starterVariable = "NODES_TEST_STATE"

func TestMain(m *testing.M) {
	if stateDir := os.Getenv(starterVariable); stateDir != "" {
		start(stateDir)
	}
	os.Exit(lab.Main(m))
}

// start runs until it is killed, or ends with an error.
func start(stateDir string) {
	if _, err := lab.Up(context.Background(), lab.Options{Name: "orphan", StateDir: stateDir, Nodes: 1, StartedBy: lab.ByTest}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	select {}
}

// hub has two nodes; edge has one.
func hub(t *testing.T) *stage.Cluster  { return cluster(t, "hub", 2) }
func edge(t *testing.T) *stage.Cluster { return cluster(t, "edge", 1) }

func cluster(t *testing.T, name string, nodes int) *stage.Cluster {
	t.Helper()
	lab.NeedNodes(t)
	return attach(t, lab.Shared(t, name, lab.WithNodes(nodes)))
}

func attach(t *testing.T, plane *lab.ControlPlane) *stage.Cluster {
	t.Helper()
	c, err := stage.Attach(plane)
	require.NoError(t, err)
	return c
}

// namespace makes one that has its service account already: without it no Pod is admitted.
func namespace(t *testing.T, c *stage.Cluster, name string, labels map[string]string) {
	t.Helper()
	_, err := c.Kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	require.NoError(t, err)
	stage.AwaitWithin(t, patience, "the service account of "+name, func(ctx context.Context) (bool, string, error) {
		_, err := c.Kube.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, "", err
	})
}

// podOf is a Pod of the test image.
func podOf(namespace, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](2),
			Containers: []corev1.Container{{Name: "main", Image: lab.PauseImage, Args: args, ImagePullPolicy: corev1.PullIfNotPresent}},
		},
	}
}

func create(t *testing.T, c *stage.Cluster, pod *corev1.Pod) {
	t.Helper()
	_, err := c.Kube.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
}

// awaitPod waits until a Pod is in a phase; a Running one is to be Ready, too.
func awaitPod(t *testing.T, c *stage.Cluster, namespace, name string, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	stage.AwaitWithin(t, patience, fmt.Sprintf("Pod %s to be %s", name, phase), func(ctx context.Context) (bool, string, error) {
		pod, err := c.Kube.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		found = pod
		return pod.Status.Phase == phase && (phase != corev1.PodRunning || isReady(pod)), describe(pod), nil
	})
	return found
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func describe(pod *corev1.Pod) string {
	return fmt.Sprintf("%s on %q: %s %s %+v", pod.Status.Phase, pod.Spec.NodeName, pod.Status.Reason, pod.Status.Message, pod.Status.ContainerStatuses)
}

// logOf is what a Pod has written.
func logOf(t *testing.T, c *stage.Cluster, namespace, name string) string {
	t.Helper()
	content, err := c.Kube.CoreV1().Pods(namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	require.NoError(t, err)
	return string(content)
}
