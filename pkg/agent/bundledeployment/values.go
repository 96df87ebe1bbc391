package bundledeployment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Keys of the Secret with the Helm values of a BundleDeployment.
const (
	keyValues       = "values"
	keyStagedValues = "stagedValues"
)

// options are those of a BundleDeployment with its Helm values, which are in a Secret of the same name. What is missing
// there, or is of another version than the object, is waited for.
func (p *pass) options(ctx context.Context) (fleet.BundleDeploymentOptions, error) {
	options := *p.bd.Spec.Options.DeepCopy()
	if p.bd.Spec.ValuesHash == "" {
		return options, nil
	}
	secret, err := p.session.Secret(ctx, p.bd.Namespace, p.bd.Name)
	if err != nil {
		return options, &fromHub{fmt.Errorf("Secret %s/%s with the Helm values: %w", p.bd.Namespace, p.bd.Name, err)}
	}
	values, err := readValues(secret.Data, p.bd.Spec.ValuesHash)
	if err != nil {
		return options, &fromHub{fmt.Errorf("Secret %s/%s: %w", p.bd.Namespace, p.bd.Name, err)}
	}
	if options.Helm == nil {
		options.Helm = &fleet.HelmOptions{}
	}
	options.Helm.Values = values
	return options, nil
}

// readValues reads the values of a Secret whose hash is known. An error never repeats any of them.
func readValues(data map[string][]byte, hash string) (*fleet.GenericMap, error) {
	sum := sha256.New()
	sum.Write(data[keyValues])
	sum.Write(data[keyStagedValues])
	if have := hex.EncodeToString(sum.Sum(nil)); have != hash {
		return nil, fmt.Errorf("retrying, hash mismatch between secret and bundledeployment: %s is not %.64s", have, hash)
	}
	if len(data[keyValues]) == 0 {
		return nil, nil
	}
	values := &fleet.GenericMap{}
	if err := json.Unmarshal(data[keyValues], values); err != nil {
		// The decoder may quote what it stumbled over.
		return nil, errors.New("key values is no JSON object")
	}
	return values, nil
}
