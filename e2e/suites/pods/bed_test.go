package pods_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/e2e/lab"
	"github.com/rancher/fleet/e2e/provider"
	"github.com/rancher/fleet/e2e/stage"
)

// The clusters of a run.
const (
	hubName    = "fleet-hub"
	edgeName   = "fleet-edge"
	remoteName = "fleet-remote"
)

// site is one of them, with clients that may do everything.
type site struct {
	*stage.Cluster
	provided provider.Cluster
	front    provider.Front
}

// bed is the hub with its clusters, installed.
type bed struct {
	hub, edge, remote *site
	// values are those that the hub is installed with now.
	values map[string]any
}

var shared stage.SharedBed[bed]

// theBed is what all tests share.
func theBed(t *testing.T) *bed {
	t.Helper()
	b := shared.Of(t, func() *bed { return raise(t) })
	b.explain(t)
	return b
}

// helm runs the helm command on a cluster, and shows what it said where that was wrong.
func (s *site) helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.tryHelm(t, args...)
	require.NoError(t, err, out)
	return out
}

func (s *site) tryHelm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), file("helm"), append([]string{"--kubeconfig", s.provided.GetKubeconfig()}, args...)...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

// chart is the folder of a chart.
func chart(t *testing.T, name string) string {
	t.Helper()
	root, err := lab.FindRoot()
	require.NoError(t, err)
	return filepath.Join(root, "charts", name)
}

// valuesFile writes values to a file for helm.
func valuesFile(t *testing.T, values map[string]any) string {
	t.Helper()
	content, err := yaml.Marshal(values)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return path
}

// asRancher are the flags that Rancher installs charts with (docs/rancher.md).
func asRancher(t *testing.T, name string, values map[string]any) []string {
	t.Helper()
	return []string{
		"upgrade", "--install", name, chart(t, name), "--namespace", stage.SystemNamespace, "--create-namespace",
		"--history-max=5", "--reset-values", "--timeout=300s", "--wait", "--take-ownership", "--values", valuesFile(t, values),
	}
}

// install brings the hub to what values say.
func (b *bed) install(t *testing.T, values map[string]any) {
	t.Helper()
	b.hub.helm(t, asRancher(t, "fleet", values)...)
	b.values = values
}

// with are the values of the hub with some of them replaced.
func (b *bed) with(more map[string]any) map[string]any {
	out := map[string]any{}
	for _, layer := range []map[string]any{b.values, more} {
		for key, value := range layer {
			out[key] = value
		}
	}
	return out
}

// pods are those of a namespace with a label, but for those that have ended or are on their way out.
func (s *site) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := s.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	var out []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			out = append(out, pod)
		}
	}
	return out, nil
}

// onlyPod waits for exactly one pod with a label, which is Ready.
func (s *site) onlyPod(t *testing.T, namespace, selector string) corev1.Pod {
	t.Helper()
	var only corev1.Pod
	await(t, fmt.Sprintf("one pod %s in %s of %s, and it is Ready", selector, namespace, s.Name), func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, namespace, selector)
		if err != nil || len(pods) != 1 {
			return false, describe(pods), err
		}
		only = pods[0]
		return isReady(only), describe(pods), nil
	})
	return only
}

func isReady(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// restarts are how often the containers of a pod were started again.
func restarts(pod corev1.Pod) int {
	n := 0
	for _, c := range pod.Status.ContainerStatuses {
		n += int(c.RestartCount)
	}
	return n
}

// describe is pods in a line.
func describe(pods []corev1.Pod) string {
	var out []string
	for _, pod := range pods {
		line := fmt.Sprintf("%s on %s: %s, ready %t", pod.Name, pod.Spec.NodeName, pod.Status.Phase, isReady(pod))
		for _, c := range pod.Status.ContainerStatuses {
			if c.State.Waiting != nil {
				line += ", " + c.State.Waiting.Reason + " " + c.State.Waiting.Message
			}
			if c.State.Terminated != nil {
				line += ", ended: " + c.State.Terminated.Reason + " " + c.State.Terminated.Message
			}
		}
		out = append(out, line)
	}
	return fmt.Sprintf("%d pods; %s", len(pods), strings.Join(out, "; "))
}

// await looks until done is satisfied.
func await(t *testing.T, what string, done stage.Look) {
	t.Helper()
	stage.AwaitWithin(t, patience, what, done)
}

// since is how long something took, for people.
func since(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Millisecond) }
