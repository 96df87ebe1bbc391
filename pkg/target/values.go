package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/target/sandbox"
)

// valuesKey holds the bundle's own values in its values Secret. Those of a target are under the target's name.
const valuesKey = "values.yaml"

// ErrValuesMissing says that a bundle's values are not there yet, or are not those that its valuesHash means. It passes when
// they come: nothing is wrong with the bundle.
var ErrValuesMissing = errors.New("the Secret with the bundle's values is missing or is not the one that valuesHash means")

// ValuesHash is the digest of the data of a bundle's values Secret, as it stands in spec.valuesHash.
func ValuesHash(data map[string][]byte) (string, error) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encoding the data of the values Secret: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// addValues puts the values of the Secret into the options. Where they should be there and are not, no cluster gets others:
// without its values a chart would fall back to its defaults.
func (c *compiled) addValues(data map[string][]byte) *fieldError {
	if c.bundle.Spec.ValuesHash == "" {
		return nil
	}
	hash, err := ValuesHash(data)
	if err != nil {
		return &fieldError{field: "spec.valuesHash", err: err}
	}
	if data == nil || hash != c.bundle.Spec.ValuesHash {
		return &fieldError{field: "spec.valuesHash", err: ErrValuesMissing}
	}
	if err := inject(&c.base, data, valuesKey); err != nil {
		return err
	}
	for i := range c.entries {
		if name := c.bundle.Spec.Targets[i].Name; name != "" {
			if err := inject(&c.entries[i].options, data, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// inject sets the values under a key of the Secret.
func inject(options *fleet.BundleDeploymentOptions, data map[string][]byte, key string) *fieldError {
	document, ok := data[key]
	if !ok {
		return nil
	}
	values, err := readValues(document)
	if err != nil {
		return &fieldError{field: fmt.Sprintf("key %s of the values Secret", sandbox.Bounded(key)), err: err}
	}
	if values == nil {
		return nil
	}
	helm := fleet.HelmOptions{}
	if options.Helm != nil {
		helm = *options.Helm
	}
	helm.Values = &fleet.GenericMap{Data: values}
	options.Helm = &helm
	return nil
}

// readValues reads a YAML document with values, nil if it is empty. No part of it stands in the error: it may be secret.
func readValues(document []byte) (map[string]any, error) {
	value, err := readYAML(document)
	if err != nil || value == nil {
		return nil, err
	}
	values, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("values must be a mapping, and this is a %s", kindOf(value))
	}
	return values, nil
}

// readYAML reads a document of any kind. Whole numbers are int64, as in the API.
func readYAML(document []byte) (any, error) {
	encoded, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("reading YAML: %w", bounded(err))
	}
	if len(encoded) > maxValues {
		return nil, fmt.Errorf("the values are larger than %d bytes", maxValues)
	}
	var wrapped fleet.GenericMap
	if err := wrapped.UnmarshalJSON(fmt.Appendf(nil, `{"value":%s}`, encoded)); err != nil {
		return nil, fmt.Errorf("reading YAML: %w", bounded(err))
	}
	value := wrapped.Data["value"]
	if depth(value) > sandbox.MaxDepth {
		return nil, fmt.Errorf("the values are nested more than %d deep", sandbox.MaxDepth)
	}
	return value, nil
}

// maxValues is how large values may be, as JSON.
const maxValues = 2 * sandbox.MaxText

func depth(value any) int {
	deepest := 0
	switch value := value.(type) {
	case map[string]any:
		for _, element := range value {
			deepest = max(deepest, depth(element))
		}
	case []any:
		for _, element := range value {
			deepest = max(deepest, depth(element))
		}
	default:
		return 0
	}
	return deepest + 1
}

func kindOf(value any) string {
	switch value.(type) {
	case []any:
		return "list"
	case string:
		return "text"
	case bool:
		return "truth value"
	case nil:
		return "null"
	}
	return "number"
}
