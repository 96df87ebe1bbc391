package main

import (
	"errors"
	"fmt"
)

// noDefaults is the kind whose spec must not have defaults: programs that write it compare what they read back with
// what they wrote, and write again where the server has filled something in. It shares fields with kinds that have them.
const noDefaults = "HelmOp"

// adapt changes a CustomResourceDefinition where controller-gen cannot be told to, and returns its plural name.
func adapt(crd map[string]any) (string, error) {
	// The generator's version would change every file with every upgrade of it.
	if metadata, ok := crd["metadata"].(map[string]any); ok {
		delete(metadata, "annotations")
	}
	spec, _ := crd["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	plural, _ := names["plural"].(string)
	if plural == "" {
		return "", errors.New("spec.names.plural is missing: this is no CustomResourceDefinition")
	}
	if names["kind"] != noDefaults {
		return plural, nil
	}
	versions, _ := spec["versions"].([]any)
	for i, version := range versions {
		schema, err := specSchema(version)
		if err != nil {
			return "", fmt.Errorf("spec.versions[%d]: %w", i, err)
		}
		dropDefaults(schema)
	}
	return plural, nil
}

// specSchema returns the schema of the field spec of objects of a version.
func specSchema(version any) (map[string]any, error) {
	current := version
	for _, key := range []string{"schema", "openAPIV3Schema", "properties", "spec"} {
		object, ok := current.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("no %s in the schema", key)
		}
		current = object[key]
	}
	schema, ok := current.(map[string]any)
	if !ok {
		return nil, errors.New("no properties.spec in the schema")
	}
	return schema, nil
}

// dropDefaults removes the defaults of a schema and of all that it contains.
func dropDefaults(schema map[string]any) {
	delete(schema, "default")
	if properties, ok := schema["properties"].(map[string]any); ok {
		for _, property := range properties {
			if property, ok := property.(map[string]any); ok {
				dropDefaults(property)
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if nested, ok := schema[key].(map[string]any); ok {
			dropDefaults(nested)
		}
	}
}
