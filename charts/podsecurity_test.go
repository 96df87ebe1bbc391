package charts

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/rancher/fleet/pkg/agentmanifest"
	"github.com/rancher/fleet/pkg/names"
)

// restricted evaluates pods as a namespace with the label pod-security.kubernetes.io/enforce=restricted does.
type restricted struct{ policy.Evaluator }

func newRestricted(t *testing.T) restricted {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	return restricted{evaluator}
}

// refusals say why such a namespace would not take a pod. empty if it would.
func (r restricted) refusals(template corev1.PodTemplateSpec) []string {
	var out []string
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, result := range r.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			out = append(out, fmt.Sprintf("%s (%s)", result.ForbiddenReason, result.ForbiddenDetail))
		}
	}
	return out
}

// hubsAgent are the objects that the hub generates for an agent: those of the import, and of the agent's own bundle.
func hubsAgent(t *testing.T, change func(*agentmanifest.Options)) []runtime.Object {
	t.Helper()
	options := agentmanifest.Options{
		Namespace: names.DefaultSystemNamespace, Image: "rancher/fleet-agent:dev", PullPolicy: "IfNotPresent",
		CheckinInterval: 15 * time.Minute, HeartbeatInterval: time.Minute,
	}
	if change != nil {
		change(&options)
	}
	objects, err := agentmanifest.Objects(options)
	require.NoError(t, err)
	return objects
}

func templates(objects []runtime.Object) []corev1.PodTemplateSpec {
	var out []corev1.PodTemplateSpec
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			out = append(out, o.Spec.Template)
		case *corev1.Pod: // the one of helm test
			out = append(out, corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec})
		}
	}
	return out
}

// Every pod of ours, as charts and hub make it, is taken by a namespace that enforces the standard "restricted". The rules
// are Kubernetes' own.
func TestPodsPassTheRestrictedStandard(t *testing.T) {
	evaluator := newRestricted(t)
	for name, objects := range map[string][]runtime.Object{
		"hub":                      hub("").mustRender(t).objects,
		"hub with Rancher":         hub(rancherValues(t)).mustRender(t).objects,
		"agent":                    agent("").mustRender(t).objects,
		"agent, all options":       agent(fullAgentValues).mustRender(t).objects,
		"agent of the hub":         hubsAgent(t, nil),
		"agent of the hub, debug":  hubsAgent(t, func(o *agentmanifest.Options) { o.Debug, o.DebugLevel = true, 9 }),
		"agent of the hub, leader": hubsAgent(t, func(o *agentmanifest.Options) { o.Replicas = 2 }),
	} {
		t.Run(name, func(t *testing.T) {
			pods := templates(objects)
			require.NotEmpty(t, pods)
			for _, pod := range pods {
				assert.Empty(t, evaluator.refusals(pod))
				for _, c := range pod.Spec.Containers {
					// Beyond the standard.
					assert.Equal(t, true, *c.SecurityContext.ReadOnlyRootFilesystem)
				}
			}
		})
	}
}

// What a person may ask for and the standard does not allow is refused by the same evaluator: it can fail.
func TestTheStandardRefusesWhatIsNotRestricted(t *testing.T) {
	evaluator := newRestricted(t)
	for name, objects := range map[string][]runtime.Object{
		"host network":                hubsAgent(t, func(o *agentmanifest.Options) { o.HostNetwork = true }),
		"host network, chart":         agent("fleetAgent: {hostNetwork: true}\n").mustRender(t).objects,
		"no security context, chart":  agent("disableSecurityContext: true\n").mustRender(t).objects,
		"no security context, hub":    hub("disableSecurityContext: true\n").mustRender(t).objects,
		"a volume of the node's disk": {deploymentWithHostPath(t)},
	} {
		t.Run(name, func(t *testing.T) {
			var refusals []string
			for _, pod := range templates(objects) {
				refusals = append(refusals, evaluator.refusals(pod)...)
			}
			assert.NotEmpty(t, refusals)
		})
	}
}

func deploymentWithHostPath(t *testing.T) *appsv1.Deployment {
	t.Helper()
	d := deployment(t, hub("").mustRender(t)).DeepCopy()
	d.Spec.Template.Spec.Volumes = append(d.Spec.Template.Spec.Volumes, corev1.Volume{
		Name: "node", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}},
	})
	d.ObjectMeta = metav1.ObjectMeta{Name: "changed"}
	return d
}

// A root filesystem that cannot be written needs places that can be.
func TestWritablePlacesAreMounted(t *testing.T) {
	for _, c := range []struct {
		install install
		want    []string
	}{
		{hub(""), []string{"/tmp"}},
		{agent(""), []string{"/.kube", "/tmp"}},
	} {
		p := pod(t, c.install.mustRender(t))
		volumes := map[string]bool{}
		for _, volume := range p.Volumes {
			volumes[volume.Name] = true
		}
		var paths []string
		for _, mount := range p.Containers[0].VolumeMounts {
			assert.True(t, volumes[mount.Name], "volume %s", mount.Name)
			paths = append(paths, mount.MountPath)
		}
		assert.Equal(t, c.want, paths)
	}
}
