package charts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// testPods are those that helm test runs.
func testPods(objects []runtime.Object) []*corev1.Pod {
	var out []*corev1.Pod
	for _, object := range objects {
		if p, ok := object.(*corev1.Pod); ok && p.Annotations["helm.sh/hook"] == "test" {
			out = append(out, p)
		}
	}
	return out
}

// The pod of helm test must run where the pods that it looks at run, from the same image and with their account.
func TestThePodOfHelmTestIsPlacedLikeTheOthers(t *testing.T) {
	const registry = "global: {cattle: {systemDefaultRegistry: registry.example.com, imagePullSecrets: [{name: pull}]}}\n"
	for name, c := range map[string]struct {
		install install
		command []string
	}{
		"hub": {hub(registry + "tolerations: [{key: dedicated, operator: Exists}]\nnodeSelector: {disk: ssd}\naffinity: {podAntiAffinity: {}}\n"),
			[]string{"fleetcontroller", "--check"}},
		"agent": {agent(registry + "fleetAgent: {tolerations: [{key: dedicated, operator: Exists}], nodeSelector: {disk: ssd}}\n"),
			[]string{"fleetagent", "--check"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.install.mustRender(t)
			pods, like := testPods(r.objects), pod(t, r)
			require.Len(t, pods, 1)
			spec := pods[0].Spec
			assert.Equal(t, corev1.RestartPolicyNever, spec.RestartPolicy)
			assert.Equal(t, like.Tolerations, spec.Tolerations)
			assert.Equal(t, like.NodeSelector, spec.NodeSelector)
			assert.Equal(t, like.Affinity, spec.Affinity)
			assert.Equal(t, like.ImagePullSecrets, spec.ImagePullSecrets)
			assert.Equal(t, like.ServiceAccountName, spec.ServiceAccountName)
			assert.Equal(t, like.Containers[0].Image, spec.Containers[0].Image)
			assert.Equal(t, c.command, spec.Containers[0].Command)
			// A pod that went when it had passed would leave helm test --logs without logs, which is an error of its own.
			assert.Equal(t, "before-hook-creation", pods[0].Annotations["helm.sh/hook-delete-policy"])
			assert.NotContains(t, pods[0].Labels, "app", "nobody may take it for a pod that works")
		})
	}
}

func TestNothingIsTestedWhereNoPodRuns(t *testing.T) {
	assert.Empty(t, testPods(hub("controller: {replicas: 0}\n").mustRender(t).objects))
	assert.Empty(t, testPods(agent("agent: {replicas: 0}\n").mustRender(t).objects))
}
