package agentmanifest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestObjectsComeInTheOrderInWhichTheyAreApplied(t *testing.T) {
	var kinds []string
	for _, object := range mustObjects(t, minimal()) {
		kinds = append(kinds, object.GetObjectKind().GroupVersionKind().Kind)
	}
	require.Equal(t, []string{
		"ClusterRole", "ClusterRoleBinding", "ServiceAccount", "ServiceAccount", "Deployment", "NetworkPolicy"}, kinds)
}

func TestRoleAndBindingBelongTogether(t *testing.T) {
	objects := mustObjects(t, full())
	role, binding := objects[0].(*rbacv1.ClusterRole), objects[1].(*rbacv1.ClusterRoleBinding)
	require.Equal(t, role.Name, binding.RoleRef.Name)
	require.Equal(t, "cattle-fleet-local-system", binding.Subjects[0].Namespace)
	require.Equal(t, "fleet-agent", objects[2].(*corev1.ServiceAccount).Name)
	require.Nil(t, objects[2].(*corev1.ServiceAccount).AutomountServiceAccountToken)
	require.Equal(t, "default", objects[3].(*corev1.ServiceAccount).Name)
	require.Equal(t, ptr(false), objects[3].(*corev1.ServiceAccount).AutomountServiceAccountToken)
}

// A11, A22
func TestThereIsAlwaysAReplica(t *testing.T) {
	for given, want := range map[int32]int32{-1: 1, 0: 1, 1: 1, 3: 3} {
		o := minimal()
		o.Replicas = given
		require.Equal(t, want, *mustDeployment(t, o).Spec.Replicas)
	}
}

// A07, A12: the old agent lives until the new one is Ready, on the host network too.
func TestTheOldAgentGoesLast(t *testing.T) {
	for _, hostNetwork := range []bool{false, true} {
		o := minimal()
		o.HostNetwork = hostNetwork
		d := mustDeployment(t, o)
		require.Equal(t, hostNetwork, d.Spec.Template.Spec.HostNetwork)
		require.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, d.Spec.Strategy.Type)
		require.Equal(t, "0", d.Spec.Strategy.RollingUpdate.MaxUnavailable.String())
		require.Equal(t, "1", d.Spec.Strategy.RollingUpdate.MaxSurge.String())
		require.Empty(t, d.Spec.Template.Spec.Containers[0].Ports, "a port would keep two agents from one node")
	}
}

func TestBuiltInTolerationsComeBeforeTheUsersSortedOnes(t *testing.T) {
	keys := func(o Options) (out []string) {
		for _, toleration := range mustPod(t, o).Tolerations {
			out = append(out, toleration.Key)
		}
		return out
	}
	builtin := []string{"node.cloudprovider.kubernetes.io/uninitialized", "cattle.io/os"}
	require.Equal(t, builtin, keys(minimal()))
	require.Equal(t, append(builtin, "edge", "zone"), keys(full()))
}

func TestAffinityOfTheClusterReplacesTheBuiltInOne(t *testing.T) {
	o := minimal()
	builtin := mustPod(t, o).Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	require.Len(t, builtin, 1)
	require.EqualValues(t, 1, builtin[0].Weight)
	require.Equal(t, []corev1.NodeSelectorRequirement{
		{Key: "fleet.cattle.io/agent", Operator: "In", Values: []string{"true"}}}, builtin[0].Preference.MatchExpressions)

	o.Affinity = full().Affinity
	require.Equal(t, full().Affinity, mustPod(t, o).Affinity)

	o.Affinity = &corev1.Affinity{}
	require.Equal(t, &corev1.Affinity{}, mustPod(t, o).Affinity, "an empty one removes it, and is written as it is")
	manifest, err := BundleYAML(o)
	require.NoError(t, err)
	require.Contains(t, manifest, "\n      affinity: {}\n")
}

func TestResourcesAreTheClusters(t *testing.T) {
	for name, want := range map[string]*corev1.ResourceRequirements{
		"none": nil, "empty": {}, "limits": {Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}},
	} {
		t.Run(name, func(t *testing.T) {
			o := minimal()
			o.Resources = want
			pod := mustPod(t, o)
			require.Len(t, pod.Containers, 1)
			require.Empty(t, pod.InitContainers)
			if want == nil {
				want = &corev1.ResourceRequirements{}
			}
			require.Equal(t, *want, pod.Containers[0].Resources)
		})
	}
}

func TestThePriorityClassIsNamedWhereThereIsOne(t *testing.T) {
	o := minimal()
	require.Empty(t, mustPod(t, o).PriorityClassName)
	o.PriorityClass = &fleet.PriorityClassSpec{}
	require.Equal(t, "fleet-agent-priority-class", mustPod(t, o).PriorityClassName)
}

func TestPullSecretsAreReferenced(t *testing.T) {
	require.Empty(t, mustPod(t, minimal()).ImagePullSecrets)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "regcred-a"}, {Name: "regcred-b"}},
		mustPod(t, full()).ImagePullSecrets)
}

func TestThePodIsConfinedUnlessThatIsTurnedOff(t *testing.T) {
	pod := mustPod(t, minimal())
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.Equal(t, ptr(true), pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, ptr(true), pod.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, pod.Containers[0].SecurityContext.Capabilities.Drop)

	o := minimal()
	o.DisableSecurityContext = true
	pod = mustPod(t, o)
	require.Nil(t, pod.SecurityContext)
	require.Nil(t, pod.Containers[0].SecurityContext)
}

func TestDebugIsPassedOnTheCommandLine(t *testing.T) {
	require.Equal(t, []string{"fleetagent"}, mustPod(t, minimal()).Containers[0].Command)
	require.Equal(t, []string{"fleetagent", "--debug", "--debug-level", "5"}, mustPod(t, full()).Containers[0].Command)
}

func TestTheDeploymentCarriesNothingOfItsOwn(t *testing.T) {
	d := mustDeployment(t, full())
	require.Empty(t, d.Labels)
	require.Empty(t, d.Annotations)
	require.Empty(t, d.Spec.Template.Annotations)
	require.Equal(t, map[string]string{"app": "fleet-agent"}, d.Spec.Template.Labels)
	require.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
}

// A process is not ended because the hub is away, and no port is needed to ask it.
func TestOnlyReadinessIsAskedFor(t *testing.T) {
	for _, o := range []Options{minimal(), full()} {
		c := deployment(Normalize(o), "g").Spec.Template.Spec.Containers[0]
		require.NotNil(t, c.ReadinessProbe)
		require.NotNil(t, c.ReadinessProbe.Exec)
		assert.Equal(t, []string{"fleetagent", "--ready"}, c.ReadinessProbe.Exec.Command)
		assert.Nil(t, c.LivenessProbe)
		assert.Nil(t, c.StartupProbe)
		assert.True(t, slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" }),
			"where the latch lies")
	}
}
