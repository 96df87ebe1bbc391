package deployment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

// Keys of the Secret with the values of a deployment.
const (
	ValuesKey       = "values"
	StagedValuesKey = "stagedValues"
)

// CurrentAnnotation says, on that Secret, of which version the values under ValuesKey are, and their digest. The Secret is
// written before the deployment that names it. Where that write fails, the digest of both halves is another than the
// deployment names, and this alone tells that the values of the version that runs are still there.
const CurrentAnnotation = names.Prefix + "current-values"

// Values are the Helm values of a deployment, as JSON; empty where there are none.
type Values struct {
	// Current are those of the version that the agent is to deploy, Staged those of the one that waits.
	Current, Staged []byte
	// proof is what CurrentAnnotation says.
	proof string
}

// Hash is what spec.valuesHash says of them, empty where there are none.
func (v Values) Hash() string {
	if len(v.Current)+len(v.Staged) == 0 {
		return ""
	}
	sum := sha256.New()
	sum.Write(v.Current)
	sum.Write(v.Staged)
	return hex.EncodeToString(sum.Sum(nil))
}

// ValuesIn reads them from their Secret.
func ValuesIn(secret *corev1.Secret) Values {
	return Values{Current: secret.Data[ValuesKey], Staged: secret.Data[StagedValuesKey], proof: secret.Annotations[CurrentAnnotation]}
}

// provenFor says whether the current values are those of a version: what values a version has is part of its ID.
func (v Values) provenFor(deploymentID string) bool {
	return v.proof != "" && v.proof == proofOf(deploymentID, v.Current)
}

func proofOf(deploymentID string, current []byte) string {
	sum := sha256.Sum256(current)
	return deploymentID + " " + hex.EncodeToString(sum[:])
}

func (v Values) equal(other Values) bool {
	return bytes.Equal(v.Current, other.Current) && bytes.Equal(v.Staged, other.Staged)
}

// split takes the values out of options. What remains shares nothing that is changed with them.
func split(options fleet.BundleDeploymentOptions) (fleet.BundleDeploymentOptions, []byte, error) {
	if options.Helm == nil || options.Helm.Values == nil {
		return options, nil, nil
	}
	helm := *options.Helm
	helm.Values = nil
	data := options.Helm.Values.Data
	options.Helm = &helm
	if len(data) == 0 {
		return options, nil, nil
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		return options, nil, fmt.Errorf("helm.values cannot be written as JSON: %w", err)
	}
	return options, encoded, nil
}
