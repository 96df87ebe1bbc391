package deployment

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Keys of the Secret with the values of a deployment.
const (
	ValuesKey       = "values"
	StagedValuesKey = "stagedValues"
)

// Values are the Helm values of a deployment, as JSON; empty where there are none.
type Values struct {
	// Current are those of the version that the agent is to deploy, Staged those of the one that waits.
	Current, Staged []byte
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
	return Values{Current: secret.Data[ValuesKey], Staged: secret.Data[StagedValuesKey]}
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
