package agentmanifest

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/names"
)

// tolerations are the built-in ones, then the user's: an agent must come up on nodes that a cloud provider has not
// finished, since what finishes them may be delivered by it.
func tolerations(o Options) []corev1.Toleration {
	return append([]corev1.Toleration{
		{
			Key:      "node.cloudprovider.kubernetes.io/uninitialized",
			Operator: corev1.TolerationOpEqual,
			Value:    "true",
			Effect:   corev1.TaintEffectNoSchedule,
		},
		{
			Key:      "cattle.io/os",
			Operator: corev1.TolerationOpEqual,
			Value:    "linux",
			Effect:   corev1.TaintEffectNoSchedule,
		},
	}, o.Tolerations...)
}

func affinity(o Options) *corev1.Affinity {
	if o.Affinity != nil {
		return o.Affinity
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 1,
			Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key:      names.AgentPreferredNodeLabel,
				Operator: corev1.NodeSelectorOpIn,
				Values:   []string{"true"},
			}}},
		}},
	}}
}
