package agentmanifest

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rancher/fleet/pkg/names"
)

// command is the name under which the image's one binary takes the agent's role.
const command = "fleetagent"

// user is the unprivileged account, and group, that the agent's process runs as.
const user = 1000

// deployment expects normalized options.
func deployment(o Options, generation string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: names.AgentDeployment},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr(o.Replicas),
			Selector: &metav1.LabelSelector{MatchLabels: podLabels()},
			Strategy: strategy(),
			Template: podTemplate(o, generation),
		},
	}
}

// strategy keeps the old agent until the new one is Ready. That holds on the host network too, where the new pod shares
// the node's ports with the old one: it needs none of them to become Ready.
func strategy() appsv1.DeploymentStrategy {
	return appsv1.DeploymentStrategy{
		Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: ptr(intstr.FromInt32(0)),
			MaxSurge:       ptr(intstr.FromInt32(1)),
		},
	}
}

func podLabels() map[string]string {
	return map[string]string{names.AgentPodLabelKey: names.AgentPodLabelValue}
}

func podTemplate(o Options, generation string) corev1.PodTemplateSpec {
	spec := corev1.PodSpec{
		ServiceAccountName: names.AgentAccount,
		Containers:         []corev1.Container{container(o, generation)},
		NodeSelector:       map[string]string{corev1.LabelOSStable: "linux"},
		Affinity:           affinity(o),
		Tolerations:        tolerations(o),
		HostNetwork:        o.HostNetwork,
		ImagePullSecrets:   o.PullSecrets,
		Volumes:            []corev1.Volume{emptyDir("kube"), emptyDir("tmp")},
	}
	if o.PriorityClass != nil {
		spec.PriorityClassName = names.AgentPriorityClass
	}
	if !o.DisableSecurityContext {
		spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr(true),
			RunAsUser:      ptr(int64(user)),
			RunAsGroup:     ptr(int64(user)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels()}, Spec: spec}
}

func container(o Options, generation string) corev1.Container {
	c := corev1.Container{
		Name:            names.AgentContainer,
		Image:           ResolveImage(o.SystemDefaultRegistry, o.PrivateRepoURL, o.Image),
		ImagePullPolicy: corev1.PullPolicy(o.PullPolicy),
		Command:         []string{command},
		Env:             environment(o, generation),
		ReadinessProbe:  readinessProbe(),
		// The root file system is read-only: Helm and discovery keep their caches in these two.
		VolumeMounts: []corev1.VolumeMount{
			{Name: "kube", MountPath: "/.kube"},
			{Name: "tmp", MountPath: "/tmp"},
		},
	}
	if o.Debug {
		c.Command = append(c.Command, "--debug", "--debug-level", strconv.Itoa(o.DebugLevel))
	}
	if o.Resources != nil {
		c.Resources = *o.Resources
	}
	if !o.DisableSecurityContext {
		c.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			Privileged:               ptr(false),
			ReadOnlyRootFilesystem:   ptr(true),
		}
	}
	return c
}

// readinessProbe asks the process by a file in tmp. It takes no port, which on the host network might be another's. There is
// no liveness probe: a process that cannot go on ends by itself, and one that waits for the hub must not be ended. What
// the API server would fill in is written out; a comparison with the live object then finds nothing.
func readinessProbe() *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:        corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command, "--ready"}}},
		InitialDelaySeconds: 2,
		PeriodSeconds:       10,
		TimeoutSeconds:      10,
		SuccessThreshold:    1,
		FailureThreshold:    3,
	}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func ptr[T any](v T) *T {
	return &v
}
