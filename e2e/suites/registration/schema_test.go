package registration_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/codegen/crdfacts"
)

// schema is what is known of the fields of one kind.
type schema map[string]crdfacts.Fact

func newSchema(facts []crdfacts.Fact) schema {
	s := schema{}
	for _, fact := range facts {
		s[fact.Path] = fact
	}
	return s
}

// step is one part of a path: a field of an object, or what stands for all elements of an array or values of a map.
type step struct {
	field string // empty for an element or a value
	array bool
}

// mapKey is the key of the one value that a test puts into a map.
const mapKey = "key"

// steps takes "spec.targets[].name" apart.
func steps(path string) (out []step) {
	for _, part := range strings.Split(path, ".") {
		var marks []step
		for {
			if rest, ok := strings.CutSuffix(part, "[]"); ok {
				part, marks = rest, append(marks, step{array: true})
				continue
			}
			if rest, ok := strings.CutSuffix(part, "{}"); ok {
				part, marks = rest, append(marks, step{})
				continue
			}
			break
		}
		out = append(out, step{field: part})
		slices.Reverse(marks)
		out = append(out, marks...)
	}
	return out
}

// children are the facts one level below a path; the empty path is the object itself.
func (s schema) children(path string) (out []crdfacts.Fact) {
	for _, fact := range s {
		rest := fact.Path
		if path != "" {
			var ok bool
			if rest, ok = strings.CutPrefix(fact.Path, path+"."); !ok {
				continue
			}
		}
		if !strings.ContainsAny(rest, ".[{") {
			out = append(out, fact)
		}
	}
	return out
}

// least is the emptiest value that a field may have: {}, [], 0, "" or false, and more only where that would be refused.
func (s schema) least(t *testing.T, fact crdfacts.Fact) any {
	t.Helper()
	kind, format, _ := strings.Cut(fact.Type, ":")
	switch kind {
	case "object":
		return s.leastObject(t, fact.Path)
	case "array":
		return []any{}
	case "boolean":
		return false
	case "integer", "number", "int-or-string":
		if text, ok := flag(fact, "minimum="); ok {
			least, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err, fact.String())
			return least
		}
		return int64(0)
	case "string":
		return leastString(fact, format)
	}
	t.Fatalf("nobody knows type %s of %s", fact.Type, fact.Path)
	return nil
}

func (s schema) leastObject(t *testing.T, path string) map[string]any {
	t.Helper()
	object := map[string]any{}
	for _, child := range s.children(path) {
		if child.Required() {
			object[child.Path[strings.LastIndex(child.Path, ".")+1:]] = s.least(t, child)
		}
	}
	return object
}

func leastString(fact crdfacts.Fact, format string) string {
	switch {
	case format == "date-time":
		return "2026-01-02T03:04:05Z"
	case format == "byte":
		return "AA=="
	case fact.Has("CEL-duration"):
		return "1s"
	}
	if values, ok := flag(fact, "enum="); ok {
		first, _, _ := strings.Cut(values, ",")
		return first
	}
	if text, ok := flag(fact, "minLength="); ok && text != "0" {
		return "a"
	}
	if fact.Has("pattern") {
		return "0123456789abcdef"
	}
	return ""
}

// flag is the value of a flag such as "minimum=1".
func flag(fact crdfacts.Fact, prefix string) (string, bool) {
	for _, f := range fact.Flags {
		if value, ok := strings.CutPrefix(f, prefix); ok {
			return value, true
		}
	}
	return "", false
}

// object is an object with a value at a path, and around it no more than has to be there.
func (s schema) object(t *testing.T, path string, value any) map[string]any {
	t.Helper()
	return s.around(t, "", steps(path), value).(map[string]any)
}

// around wraps a value in what lies between a path and the value.
func (s schema) around(t *testing.T, path string, rest []step, value any) any {
	t.Helper()
	if len(rest) == 0 {
		return value
	}
	inner := s.around(t, reachedAt(path, rest[0]), rest[1:], value)
	switch {
	case rest[0].array:
		return []any{inner}
	case rest[0].field == "":
		return map[string]any{mapKey: inner}
	}
	object := s.leastObject(t, path)
	object[rest[0].field] = inner
	return object
}

func reachedAt(path string, step step) string {
	switch {
	case step.field == "" && step.array:
		return path + "[]"
	case step.field == "":
		return path + "{}"
	case path == "":
		return step.field
	}
	return path + "." + step.field
}

// at reads the value at a path.
func at(object any, path string) (value any, found bool) {
	for _, step := range steps(path) {
		switch container := object.(type) {
		case map[string]any:
			key := step.field
			if key == "" {
				key = mapKey
			}
			if object, found = container[key]; !found {
				return nil, false
			}
		case []any:
			if len(container) != 1 {
				return nil, false
			}
			object = container[0]
		default:
			return nil, false
		}
	}
	return object, true
}

// element says whether a path ends with an element of an array.
func element(path string) bool { return strings.HasSuffix(path, "[]") }
