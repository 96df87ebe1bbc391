package agentmanifest

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

func TestTolerationsAreSortedFieldByField(t *testing.T) {
	type list = []corev1.Toleration
	for name, want := range map[string]list{
		"by key":      {{Key: "a", Value: "z"}, {Key: "b", Value: "a"}},
		"by value":    {{Key: "a", Value: "a", Operator: "Lt"}, {Key: "a", Value: "b", Operator: "Equal"}},
		"by operator": {{Key: "a", Operator: "Equal", Effect: "NoSchedule"}, {Key: "a", Operator: "Exists", Effect: "NoExecute"}},
		"by effect":   {{Key: "a", Effect: "NoExecute", TolerationSeconds: ptr(int64(9))}, {Key: "a", Effect: "NoSchedule"}},
		"seconds, none first": {
			{Key: "a", Effect: "NoExecute"},
			{Key: "a", Effect: "NoExecute", TolerationSeconds: ptr(int64(-1))},
			{Key: "a", Effect: "NoExecute", TolerationSeconds: ptr(int64(30))},
		},
		"basic": {{Operator: "Exists"}, {Key: "cpu"}, {Key: "gpu", Value: "a"}, {Key: "gpu", Value: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			reversed := make(list, 0, len(want))
			for i := len(want) - 1; i >= 0; i-- {
				reversed = append(reversed, want[i])
			}
			require.Equal(t, want, Normalize(Options{Tolerations: reversed}).Tolerations)
		})
	}
}

func TestWhatOccursTwiceInASetIsKeptOnce(t *testing.T) {
	o := Normalize(Options{
		Tolerations: []corev1.Toleration{
			{Key: "a", Effect: "NoExecute", TolerationSeconds: ptr(int64(5))},
			{Key: "b"},
			{Key: "a", Effect: "NoExecute", TolerationSeconds: ptr(int64(5))},
		},
		PullSecrets: []corev1.LocalObjectReference{{Name: "b"}, {Name: "a"}, {Name: "b"}},
	})
	require.Len(t, o.Tolerations, 2)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}}, o.PullSecrets)
}

// A03
func TestOrderOfSetsChangesNothing(t *testing.T) {
	o := full()
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		o.Tolerations = append(o.Tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists},
			corev1.Toleration{Key: key, Value: "v", Effect: corev1.TaintEffectNoSchedule})
		o.PullSecrets = append(o.PullSecrets, corev1.LocalObjectReference{Name: key})
	}
	want, err := BundleYAML(o)
	require.NoError(t, err)

	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		random.Shuffle(len(o.Tolerations), reflect.Swapper(o.Tolerations))
		random.Shuffle(len(o.PullSecrets), reflect.Swapper(o.PullSecrets))
		got, err := BundleYAML(o)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestOrderOfVariablesIsKept(t *testing.T) {
	o := full()
	o.EnvVars = []corev1.EnvVar{{Name: "B", Value: "1"}, {Name: "A", Value: "$(B)"}}
	env := mustPod(t, o).Containers[0].Env
	require.Equal(t, o.EnvVars, env[len(env)-2:])

	swapped := o
	swapped.EnvVars = []corev1.EnvVar{o.EnvVars[1], o.EnvVars[0]}
	require.NotEqual(t, Generation(o), Generation(swapped))
}

// A14
func TestNilAndEmptyAreTheSame(t *testing.T) {
	absent := minimal()
	empty := minimal()
	empty.EnvVars = []corev1.EnvVar{}
	empty.Tolerations = []corev1.Toleration{}
	empty.PullSecrets = []corev1.LocalObjectReference{}
	empty.Resources = &corev1.ResourceRequirements{}

	want, err := BundleYAML(absent)
	require.NoError(t, err)
	got, err := BundleYAML(empty)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestNormalizingTwiceIsNormalizingOnce(t *testing.T) {
	for name, o := range map[string]Options{"zero": {}, "minimal": minimal(), "full": full()} {
		t.Run(name, func(t *testing.T) {
			once := Normalize(o)
			require.Equal(t, once, Normalize(once))
			require.Equal(t, Generation(o), Generation(once))
		})
	}
}

func TestTheCallersOptionsAreNeitherChangedNorShared(t *testing.T) {
	o := full()
	pod := mustPod(t, o)
	scheduling, err := Scheduling(o)
	require.NoError(t, err)
	require.Len(t, scheduling, 2)
	require.Equal(t, full(), o)

	pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = nil
	delete(pod.Containers[0].Resources.Limits, corev1.ResourceMemory)
	pod.ImagePullSecrets[0].Name = "other"
	for i := range pod.Tolerations {
		if seconds := pod.Tolerations[i].TolerationSeconds; seconds != nil {
			*seconds = 1
		}
	}
	env := pod.Containers[0].Env
	env[len(env)-1].ValueFrom.SecretKeyRef.Key = "other"
	require.Equal(t, full(), o)
}

func TestDefaultsFillWhatIsNotGiven(t *testing.T) {
	o := Normalize(Options{Replicas: -3, PriorityClass: &fleet.PriorityClassSpec{}, DebugLevel: 5})
	require.EqualValues(t, 1, o.Replicas)
	require.Equal(t, []string{"50", "50", "30s", "25s", "10s", "1m0s"}, []string{
		o.BundleDeploymentWorkers, o.DriftWorkers, o.LeaseDuration, o.RenewDeadline, o.RetryPeriod, o.HeartbeatInterval.String()})
	require.Zero(t, o.DebugLevel, "a level without --debug has no effect")
	require.NotNil(t, o.PriorityClass, "an empty priority class is one of value zero")
}
