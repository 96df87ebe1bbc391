package crdfacts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// flatten writes the schema of a kind in the notation of the list, without spec and status themselves, without what
// every kind has, and without what lies in external types.
func flatten(schema map[string]any, external func(path string) bool) []string {
	facts := map[string]Fact{}
	for name, property := range object(schema, "properties") {
		switch name {
		case "apiVersion", "kind", "metadata":
		case "spec", "status":
			walk(facts, name, property.(map[string]any), external)
		default:
			describe(facts, name, property.(map[string]any), required(schema, name), external)
		}
	}
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(facts)) {
		lines = append(lines, facts[path].String())
	}
	return lines
}

// walk adds the facts of everything directly below a schema.
func walk(facts map[string]Fact, path string, schema map[string]any, external func(string) bool) {
	for name, property := range object(schema, "properties") {
		describe(facts, path+"."+name, property.(map[string]any), required(schema, name), external)
	}
	if items := object(schema, "items"); items != nil {
		describe(facts, path+"[]", items, false, external)
	}
	if values := object(schema, "additionalProperties"); values != nil {
		describe(facts, path+"{}", values, false, external)
	}
}

// describe adds the fact of a schema and of everything below it.
func describe(facts map[string]Fact, path string, schema map[string]any, required bool, external func(string) bool) {
	fact := Fact{Path: path, Type: schemaType(schema), Flags: flags(schema)}
	if required {
		fact.Flags = append(fact.Flags, "required")
	}
	slices.Sort(fact.Flags)
	facts[path] = fact
	if !external(path) {
		walk(facts, path, schema, external)
	}
}

func schemaType(schema map[string]any) string {
	if schema["x-kubernetes-int-or-string"] == true {
		return "int-or-string"
	}
	typ := fmt.Sprint(schema["type"])
	if format, ok := schema["format"]; ok {
		typ += ":" + fmt.Sprint(format)
	}
	return typ
}

func flags(schema map[string]any) []string {
	var flags []string
	for key, flag := range map[string]string{"nullable": "nullable", "x-kubernetes-preserve-unknown-fields": "preserve-unknown"} {
		if schema[key] == true {
			flags = append(flags, flag)
		}
	}
	if _, ok := schema["pattern"]; ok {
		flags = append(flags, "pattern")
	}
	for _, validation := range array(schema, "x-kubernetes-validations") {
		flag, rule := "CEL-name", validation.(map[string]any)["rule"].(string)
		if strings.Contains(rule, "duration(") {
			flag = "CEL-duration"
		} else if strings.Contains(rule, "size(") {
			flag = "CEL-size"
		}
		flags = append(flags, flag)
	}
	for _, key := range []string{"minLength", "maxLength", "maxItems", "maxProperties", "minItems", "minimum", "maximum"} {
		if value, ok := schema[key]; ok {
			flags = append(flags, fmt.Sprintf("%s=%v", key, value))
		}
	}
	if value, ok := schema["default"]; ok {
		flags = append(flags, fmt.Sprintf("default='%v'", value))
	}
	if values, ok := schema["enum"].([]any); ok {
		var words []string
		for _, value := range values {
			words = append(words, fmt.Sprint(value))
		}
		flags = append(flags, "enum="+strings.Join(words, ","))
	}
	return flags
}

func required(schema map[string]any, name string) bool {
	names, _ := schema["required"].([]any)
	return slices.Contains(names, any(name))
}

func object(schema map[string]any, key string) map[string]any {
	value, _ := schema[key].(map[string]any)
	return value
}
