package pods_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// shownLines are how much of each log a failed test shows.
const shownLines = 40

// explain shows what hub and agents have logged, where the test has failed.
func (b *bed) explain(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		for _, s := range []*site{b.hub, b.edge, b.remote} {
			for _, selector := range []string{controllerPods, agentPods} {
				s.showLogs(ctx, t, selector)
			}
		}
	})
}

func (s *site) showLogs(ctx context.Context, t *testing.T, selector string) {
	pods, err := s.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Logf("pods of %s: %v", s.Name, err)
		return
	}
	lines := int64(shownLines)
	for _, pod := range pods.Items {
		id := s.Name + ": " + pod.Namespace + "/" + pod.Name
		text, err := s.Kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
		if err != nil {
			t.Logf("%s, %s: no log: %v", id, describe([]corev1.Pod{pod}), err)
			continue
		}
		t.Logf("%s, %s:\n%s", id, describe([]corev1.Pod{pod}), strings.TrimSpace(string(text)))
	}
}
