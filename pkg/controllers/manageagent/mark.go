package manageagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rancher/fleet/pkg/agentmanifest"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// mark is what a bundle says of itself, in an annotation: which generation of the agent it carries, and how that came
// there.
type mark struct {
	// Generation is GENERATION of the manifest.
	Generation string `json:"generation"`
	// Options is the digest of the Cluster's own options.
	Options string `json:"options,omitempty"`
	// Waved says that the generation was written in its turn; else it was written at once.
	Waved bool `json:"waved,omitempty"`
	// Import is the digest of the import's record when the generation was written: each import goes before the waves once.
	Import string `json:"import,omitempty"`
	// Written is when.
	Written time.Time `json:"written"`
}

// markOf reads the mark of a bundle. A bundle of another hub has none.
func markOf(bundle *fleet.Bundle) mark {
	var m mark
	if bundle == nil || json.Unmarshal([]byte(bundle.Annotations[names.AgentUpgradeAnnotation]), &m) != nil {
		return mark{}
	}
	return m
}

func (m mark) String() string {
	m.Written = m.Written.UTC().Truncate(time.Second)
	data, err := json.Marshal(m)
	if err != nil {
		return "" // a time beyond the year 9999; the bundle is then like one without a mark
	}
	return string(data)
}

// importDigest stands for the last import of a Cluster, empty where there was none.
func importDigest(c *fleet.Cluster) string {
	record := c.Annotations[names.ImportAnnotation]
	if record == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(record))
	return hex.EncodeToString(sum[:6])
}

// ownOptions is what of an agent's options a Cluster decides. Fields are left out where they are not set, so that one that
// is new changes no digest.
type ownOptions struct {
	Namespace     string                              `json:"namespace,omitempty"`
	Registry      string                              `json:"registry,omitempty"`
	PullSecrets   []corev1.LocalObjectReference       `json:"pullSecrets,omitempty"`
	OwnSecrets    bool                                `json:"ownSecrets,omitempty"`
	EnvVars       []corev1.EnvVar                     `json:"envVars,omitempty"`
	Tolerations   []corev1.Toleration                 `json:"tolerations,omitempty"`
	Affinity      *corev1.Affinity                    `json:"affinity,omitempty"`
	Resources     *corev1.ResourceRequirements        `json:"resources,omitempty"`
	HostNetwork   bool                                `json:"hostNetwork,omitempty"`
	Customization *fleet.AgentSchedulingCustomization `json:"customization,omitempty"`
	Redeploy      int64                               `json:"redeploy,omitempty"`
}

// optionsDigest tells a change of a Cluster's own options from one of the hub's.
func optionsDigest(spec fleet.ClusterSpec) string {
	sorted := agentmanifest.Normalize(agentmanifest.Options{Tolerations: spec.AgentTolerations, EnvVars: spec.AgentEnvVars})
	own := ownOptions{
		Namespace: spec.AgentNamespace, Registry: spec.PrivateRepoURL, EnvVars: sorted.EnvVars, Tolerations: sorted.Tolerations,
		Affinity: spec.AgentAffinity, Resources: spec.AgentResources, HostNetwork: spec.HostNetwork != nil && *spec.HostNetwork,
		Customization: spec.AgentSchedulingCustomization, Redeploy: spec.RedeployAgentGeneration,
	}
	if spec.AgentPullSecrets != nil {
		own.OwnSecrets, own.PullSecrets = true, slices.Clone(*spec.AgentPullSecrets)
	}
	data, err := json.Marshal(own)
	if err != nil {
		return "" // plain API structs always encode
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:16]
}
