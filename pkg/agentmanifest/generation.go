package agentmanifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// generationDigits is how much of the SHA-256 a generation shows.
const generationDigits = 16

// effective is what a generation stands for. It holds what the options come to, not the options: a registry that changes
// no image, or a default that is spelled out, is no change.
type effective struct {
	Deployment         *appsv1.Deployment             `json:"deployment"`
	PriorityClass      *fleet.PriorityClassSpec       `json:"priorityClass"`
	DisruptionBudget   *fleet.PodDisruptionBudgetSpec `json:"disruptionBudget"`
	RedeployGeneration int64                          `json:"redeployGeneration"`
}

// Generation is a digest of the effective options, the image and the redeploy generation. It stands in the pod template,
// so that an agent can say which options it runs with, and the hub can tell whether they are the ones that it wants.
func Generation(o Options) string {
	o = Normalize(o)
	digest := sha256.New()
	// Neither can fail: plain API structs always encode, and a hash takes every byte.
	_ = json.NewEncoder(digest).Encode(effective{
		Deployment:         deployment(o, ""),
		PriorityClass:      o.PriorityClass,
		DisruptionBudget:   effectiveBudget(o.DisruptionBudget),
		RedeployGeneration: o.RedeployGeneration,
	})
	return hex.EncodeToString(digest.Sum(nil))[:generationDigits]
}

// effectiveBudget is the budget with only the bound that holds. One that is invalid stays as it is written: it is
// reported elsewhere, and must not look like another.
func effectiveBudget(spec *fleet.PodDisruptionBudgetSpec) *fleet.PodDisruptionBudgetSpec {
	if spec == nil {
		return nil
	}
	minAvailable, maxUnavailable, err := budget(*spec)
	if err != nil {
		return spec
	}
	if minAvailable != nil {
		return &fleet.PodDisruptionBudgetSpec{MinAvailable: minAvailable.String()}
	}
	return &fleet.PodDisruptionBudgetSpec{MaxUnavailable: maxUnavailable.String()}
}
