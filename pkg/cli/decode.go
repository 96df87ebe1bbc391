package cli

import (
	gojson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxStrange is how many of the fields that are not understood are named.
const maxStrange = 8

// decode reads an object from a document of YAML. strange names what in it the object has no place for.
func decode(document []byte, into any) (strange []string, err error) {
	content, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		strange = append(strange, plain(err)) // a key that is there twice
		if content, err = yaml.YAMLToJSON(document); err != nil {
			return nil, errors.New(plain(err))
		}
	}
	// The fields of the API are told apart by upper and lower case, as the API server does.
	more, err := json.UnmarshalStrict(content, into)
	if err != nil {
		return nil, mistaken(err)
	}
	for _, one := range more {
		strange = append(strange, one.Error())
	}
	if n := len(strange) - maxStrange; n > 0 {
		strange = append(slices.Clone(strange[:maxStrange]), fmt.Sprintf("and %d more", n))
	}
	return strange, nil
}

// mistaken says which field has what it cannot have.
func mistaken(err error) error {
	var wrong *gojson.UnmarshalTypeError
	if errors.As(err, &wrong) {
		field := wrong.Field
		if field == "" {
			field = "it"
		}
		return fmt.Errorf("%.256s cannot be a %.32s", field, wrong.Value)
	}
	return errors.New(plain(err))
}

// plain is an error of a parser without what it says of its own inside.
func plain(err error) string {
	text := err.Error()
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "yaml: unmarshal errors:\n  ", "json: ", "yaml: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
