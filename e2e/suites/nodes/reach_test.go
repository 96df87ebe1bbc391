package nodes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/stage"
)

// reaches runs a Pod to its end and returns what it says whom it has reached.
func reaches(t *testing.T, c *stage.Cluster, pod *corev1.Pod) string {
	t.Helper()
	create(t, c, pod)
	awaitPod(t, c, pod.Namespace, pod.Name, corev1.PodSucceeded)
	lines := strings.Split(strings.TrimSpace(logOf(t, c, pod.Namespace, pod.Name)), "\n")
	return lines[len(lines)-1]
}

func TestAPodReachesItsAPIServerWithItsOwnToken(t *testing.T) {
	c := hub(t)
	namespace(t, c, "own", nil)
	wanted := "reached " + c.URL + " as system:serviceaccount:own:default"
	require.Equal(t, wanted, reaches(t, c, podOf("own", "in-its-network", "reach")))

	pod := podOf("own", "in-the-hosts-network", "reach")
	pod.Spec.HostNetwork = true
	require.Equal(t, wanted, reaches(t, c, pod))
}

func TestAPodReachesTheAPIServersOfOtherControlPlanes(t *testing.T) {
	ours, theirs := edge(t), hub(t)
	namespace(t, ours, "other", nil)
	namespace(t, theirs, "other", nil)
	kubeconfig, err := theirs.ServiceAccountKubeconfig(t.Context(), "other", "default", time.Hour)
	require.NoError(t, err)
	pod := podOf("other", "visitor", "reach")
	pod.Spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "REACH_URL", Value: kubeconfig.Server}, {Name: "REACH_CA", Value: string(kubeconfig.CA)}, {Name: "REACH_TOKEN", Value: kubeconfig.Token},
	}
	require.Equal(t, "reached "+theirs.URL+" as system:serviceaccount:other:default", reaches(t, ours, pod))
	require.NotEqual(t, ours.URL, theirs.URL)
}

// The level that the product's own namespaces have.
func TestARestrictedPodRuns(t *testing.T) {
	c := hub(t)
	namespace(t, c, "restricted", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	pod := podOf("restricted", "harmless", "serve")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	create(t, c, pod)
	awaitPod(t, c, "restricted", "harmless", corev1.PodRunning)
}

func TestWhatIsNotThereIsNamed(t *testing.T) {
	c := edge(t)
	require.Equal(t, []string{"node-1"}, c.Nodes())
	require.ErrorContains(t, c.LoadImages(t.Context(), "/does/not/exist.tar"), "/does/not/exist.tar")
	require.ErrorContains(t, c.StopNode(t.Context(), "node-7"), `no node "node-7"`)
	plain := &lab.ControlPlane{Name: "plain"}
	require.ErrorContains(t, plain.LoadImages(t.Context(), "x.tar"), "has no nodes")
}
