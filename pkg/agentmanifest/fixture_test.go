package agentmanifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// minimal is what a hub with default settings gives a Cluster that wishes nothing.
func minimal() Options {
	return Options{
		Namespace:         "cattle-fleet-system",
		Image:             "rancher/fleet-agent:v1.2.3",
		PullPolicy:        "IfNotPresent",
		Replicas:          1,
		CheckinInterval:   15 * time.Minute,
		HeartbeatInterval: time.Minute,
		ServerURL:         "https://hub.example.com",
	}
}

// full sets every option.
func full() Options {
	return Options{
		Namespace:               "cattle-fleet-local-system",
		Scope:                   "cattle-fleet-local-system",
		Image:                   "registry.example.com/rancher/fleet-agent:v1.2.3",
		PullPolicy:              "Always",
		SystemDefaultRegistry:   "registry.example.com/",
		PrivateRepoURL:          "mirror.example.com/private",
		PullSecrets:             []corev1.LocalObjectReference{{Name: "regcred-b"}, {Name: "regcred-a"}},
		Replicas:                2,
		CheckinInterval:         5 * time.Minute,
		HeartbeatInterval:       30 * time.Second,
		BundleDeploymentWorkers: "20",
		DriftWorkers:            "10",
		LeaseDuration:           "60s",
		RenewDeadline:           "50s",
		RetryPeriod:             "5s",
		GVKErrorMapping:         `[{"gvk":"helm.cattle.io/v1, Kind=HelmChart"}]`,
		Debug:                   true,
		DebugLevel:              5,
		DisableSecurityContext:  true,
		EnvVars: []corev1.EnvVar{
			{Name: "PROXY_HOST", Value: "proxy.example.com"},
			{Name: "HTTPS_PROXY", Value: "http://$(PROXY_HOST):3128"},
			{Name: "PROXY_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "proxy"}, Key: "password"}}},
		},
		Tolerations: []corev1.Toleration{
			{Key: "zone", Operator: corev1.TolerationOpExists},
			{Key: "edge", Value: "true", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(9007199254740993))},
		},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: "role", Operator: corev1.NodeSelectorOpIn, Values: []string{"infra"}}}}},
			}}},
		Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		HostNetwork:        true,
		PriorityClass:      &fleet.PriorityClassSpec{Value: 999999999, PreemptionPolicy: ptr(corev1.PreemptNever)},
		DisruptionBudget:   &fleet.PodDisruptionBudgetSpec{MinAvailable: "1", MaxUnavailable: "0"},
		RedeployGeneration: 7,
		ServerURL:          "https://hub.example.com",
	}
}

func mustObjects(t *testing.T, o Options) []runtime.Object {
	t.Helper()
	objects, err := Objects(o)
	require.NoError(t, err)
	return objects
}

func mustDeployment(t *testing.T, o Options) *appsv1.Deployment {
	t.Helper()
	for _, object := range mustObjects(t, o) {
		if d, ok := object.(*appsv1.Deployment); ok {
			return d
		}
	}
	require.Fail(t, "no Deployment among the objects")
	return nil
}

func mustPod(t *testing.T, o Options) corev1.PodSpec {
	t.Helper()
	return mustDeployment(t, o).Spec.Template.Spec
}

// variable finds an environment variable, and fails where its name occurs twice.
func variable(t *testing.T, pod corev1.PodSpec, name string) *corev1.EnvVar {
	t.Helper()
	var found *corev1.EnvVar
	for i := range pod.Containers[0].Env {
		if v := &pod.Containers[0].Env[i]; v.Name == name {
			require.Nil(t, found, "%s occurs twice", name)
			found = v
		}
	}
	return found
}
