// Package crdfacts lists what is known of the schema of every kind: which fields there are, of which type, which of them
// take null, which must be given. Tests compare the list with the CustomResourceDefinitions and with API servers. The
// list is in wire.txt (what other programs rely on) and own.txt (what we add), not derived from the Go types.
//
// It imports nothing but the standard library.
package crdfacts

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed wire.txt
var wire string

//go:embed own.txt
var own string

// Fact is what is known of one field of a kind.
type Fact struct {
	// Path is where the field is: "spec.targets[].name". "[]" is any element of an array, "{}" any value of a map.
	Path string
	// Type is the JSON type, with the format after a colon where there is one, or "int-or-string".
	Type string
	// Flags are the rest of the facts, sorted: "nullable", "required", "maxLength=53" and so on, see wire.txt.
	Flags []string
}

// Nullable says whether the field takes and keeps null.
func (f Fact) Nullable() bool { return f.Has("nullable") }

// Required says whether an object without the field is refused.
func (f Fact) Required() bool { return f.Has("required") }

// External says whether the field has a type of Kubernetes whose own fields are not listed.
func (f Fact) External() bool {
	return f.Has("external") || strings.HasSuffix(strings.ToLower(f.Path), "selector")
}

// Has says whether the flag is set.
func (f Fact) Has(flag string) bool { return slices.Contains(f.Flags, flag) }

// String writes the fact as it stands in the list.
func (f Fact) String() string {
	if len(f.Flags) == 0 {
		return f.Path + " : " + f.Type
	}
	return f.Path + " : " + f.Type + " (" + strings.Join(f.Flags, " ") + ")"
}

// Wire returns the facts that other programs rely on, by kind and sorted by path.
func Wire() (map[string][]Fact, error) { return load(wire) }

// All returns all facts, ours included, by kind and sorted by path.
func All() (map[string][]Fact, error) { return load(wire, own) }

func load(texts ...string) (map[string][]Fact, error) {
	list := list{}
	for _, text := range texts {
		if err := list.read(text); err != nil {
			return nil, err
		}
	}
	byKind := map[string][]Fact{}
	for section, facts := range list {
		// Sections in lower case are types that kinds share.
		if strings.ToLower(section[:1]) == section[:1] {
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(facts)) {
			byKind[section] = append(byKind[section], facts[path])
		}
	}
	if len(byKind) == 0 {
		return nil, fmt.Errorf("the list of facts has no kind: every kind begins with its name in brackets")
	}
	return byKind, nil
}
