package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/rancher/fleet/e2e/lab"
)

const (
	// patience bounds a wait; it is many times what is expected.
	patience = time.Minute
	// pause is between two looks.
	pause = 50 * time.Millisecond
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m)) }

// bed is a cluster with a node, and a program in place of the product: it is Ready once there is a file "ready" in its
// Pod's folder, and ends with code 3 where the variable CRASH says so.
type bed struct {
	t    *testing.T
	kube kubernetes.Interface
	node *Node
	dir  string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	plane := lab.New(t)
	cfg, err := plane.RESTConfig()
	require.NoError(t, err)
	b := &bed{t: t, dir: t.TempDir()}
	b.kube, err = kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	program := filepath.Join(b.dir, "product")
	require.NoError(t, os.WriteFile(program, []byte(`#!/bin/sh
if [ "$2" = probe ]; then test -e "$TMPDIR/ready"; exit; fi
if [ -n "$CRASH" ]; then echo crash; exit 3; fi
echo "$POD_NAME runs: $*"
exec sleep 600
`), 0o700))
	b.node, err = Start(t.Context(), Config{
		REST: cfg, Dir: b.dir, Program: program, Complain: t.Logf,
		Kubeconfig: func(ctx context.Context, namespace, account, path string) error {
			return os.WriteFile(path, []byte(namespace+"/"+account), 0o600)
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.node.Stop()) })
	return b
}

func (b *bed) deploy(name string, template corev1.PodSpec, annotations map[string]string) {
	b.t.Helper()
	labels := map[string]string{"app": name}
	_, err := b.kube.AppsV1().Deployments("default").Create(b.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(1)),
			}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}, Spec: template},
		},
	}, metav1.CreateOptions{})
	require.NoError(b.t, err)
}

// pods are those of a Deployment.
func (b *bed) pods(name string) []corev1.Pod {
	b.t.Helper()
	list, err := b.kube.CoreV1().Pods("default").List(b.t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
	require.NoError(b.t, err)
	return list.Items
}

func (b *bed) eventually(what string, done func() bool) {
	b.t.Helper()
	require.Eventually(b.t, done, patience, pause, what)
}

func (b *bed) available(name string) bool {
	d, err := b.kube.AppsV1().Deployments("default").Get(b.t.Context(), name, metav1.GetOptions{})
	return err == nil && d.Status.AvailableReplicas == 1 && d.Status.Replicas == 1 && d.Status.ObservedGeneration == d.Generation
}

func ordinary(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}
}

func TestNode(t *testing.T) {
	b := newBed(t)
	t.Run("ordinary Pods do what they are told without running", func(t *testing.T) { ordinaryPods(t, b) })
	t.Run("agents run as processes and roll as their Deployment says", func(t *testing.T) { agents(t, b) })
}

func ordinaryPods(t *testing.T, b *bed) {
	b.deploy("plain", ordinary("nginx"), nil)
	b.deploy("held", ordinary("nginx"), map[string]string{Hold: "the test says so"})
	b.deploy("missing", ordinary("example.com/no-such-image"), nil)
	elsewhere := ordinary("nginx")
	elsewhere.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	b.deploy("elsewhere", elsewhere, nil)
	_, err := b.kube.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "once"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: ordinary("busybox").Containers,
		}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	b.eventually("the Deployment is available", func() bool { return b.available("plain") })
	b.eventually("the Job is complete", func() bool {
		job, err := b.kube.BatchV1().Jobs("default").Get(t.Context(), "once", metav1.GetOptions{})
		return err == nil && job.Status.Succeeded == 1 && job.Status.CompletionTime != nil
	})
	b.eventually("the held Pod runs", func() bool {
		pods := b.pods("held")
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning
	})
	require.False(t, b.available("held"))
	b.eventually("the image is waited for", func() bool {
		pods := b.pods("missing")
		return len(pods) == 1 && len(pods[0].Status.ContainerStatuses) == 1 && pods[0].Status.ContainerStatuses[0].State.Waiting != nil &&
			pods[0].Status.ContainerStatuses[0].State.Waiting.Reason == "ImagePullBackOff"
	})
	b.eventually("the Pod says that it has no node", func() bool {
		pods := b.pods("elsewhere")
		return len(pods) == 1 && len(pods[0].Status.Conditions) == 1 && pods[0].Status.Conditions[0].Reason == corev1.PodReasonUnschedulable
	})
	_, err = b.kube.CoreV1().Pods("default").Patch(t.Context(), b.pods("held")[0].Name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+Hold+`":null}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	b.eventually("the Pod that is let go is Ready", func() bool { return b.available("held") })
}

func agent(env ...corev1.EnvVar) corev1.PodSpec {
	field := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "agent", Image: "fleet-agent", Command: []string{"fleetagent", "--debug"},
		Env:            append([]corev1.EnvVar{{Name: "POD_NAME", ValueFrom: field}}, env...),
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"fleetagent", "probe"}}}},
	}}}
}

// ready makes the only Pod Ready that is not so yet.
func (b *bed) ready(name string) string {
	b.t.Helper()
	var found string
	b.eventually("a Pod whose process runs and is not Ready", func() bool {
		for _, pod := range b.pods(name) {
			if _, runs := b.node.Agents("default")[pod.Name]; runs && pod.DeletionTimestamp == nil && !isReady(pod) {
				found = pod.Name
			}
		}
		return found != ""
	})
	require.NoError(b.t, os.WriteFile(filepath.Join(b.dir, "pods", "default_"+found, "ready"), nil, 0o600))
	return found
}

func isReady(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func agents(t *testing.T, b *bed) {
	b.deploy("fleet-agent", agent(), nil)
	first := b.ready("fleet-agent")
	b.eventually("the agent is available", func() bool { return b.available("fleet-agent") })
	old := b.node.Agents("default")[first]
	require.Equal(t, fmt.Sprintf("%s%d", ProcessID, old.PID()), b.pods("fleet-agent")[0].Status.ContainerStatuses[0].ContainerID)
	require.Contains(t, old.Tail(5), first+" runs: agent --kubeconfig "+filepath.Join(b.dir, "pods", "default_"+first, "kubeconfig")+" --namespace default --debug")

	patch := func(value string) {
		_, err := b.kube.AppsV1().Deployments("default").Patch(t.Context(), "fleet-agent", types.StrategicMergePatchType,
			[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"agent","env":[{"name":"CRASH","value":"`+value+`"}]}]}}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
	}
	patch("yes")
	b.eventually("the new Pod crashes", func() bool {
		for _, pod := range b.pods("fleet-agent") {
			if pod.Name != first && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount > 1 {
				waiting := pod.Status.ContainerStatuses[0].State.Waiting
				return waiting != nil && waiting.Reason == "CrashLoopBackOff"
			}
		}
		return false
	})
	require.True(t, old.Running(), "the old one stays until the new one is Ready")

	patch("")
	b.ready("fleet-agent")
	<-old.Done()
	b.eventually("the new one alone is available", func() bool { return b.available("fleet-agent") && len(b.pods("fleet-agent")) == 1 })
	require.Len(t, b.node.Agents("default"), 1)

	crashed := b.node.Agents("default")
	for _, p := range crashed {
		require.NoError(t, p.Kill())
	}
	b.eventually("what was killed is started again", func() bool {
		for name, p := range b.node.Agents("default") {
			return p != crashed[name]
		}
		return false
	})
}
