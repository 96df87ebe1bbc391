package drift

import (
	"encoding/json"
	"regexp"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// ignoreOperation drops an object that is missing or extra; the other operations change an object before it is compared.
const ignoreOperation = "ignore"

// comparePatch is a bundle's comparePatches entry, ready to be used.
type comparePatch struct {
	group, kind, namespace, name string
	// expression is the name read as a regular expression, nil if it is none.
	expression *regexp.Regexp
	ignore     bool
	steps      []jsonpatch.Patch
}

func compilePatches(patches []fleet.ComparePatch) []comparePatch {
	result := make([]comparePatch, 0, len(patches))
	for _, given := range patches {
		gv, err := schema.ParseGroupVersion(given.APIVersion)
		if err != nil {
			continue
		}
		patch := comparePatch{group: gv.Group, kind: given.Kind, namespace: given.Namespace, name: given.Name}
		patch.expression, _ = regexp.Compile(given.Name) // what is no expression is a name alone
		for _, pointer := range given.JsonPointers {
			patch.add(fleet.Operation{Op: "remove", Path: pointer})
		}
		for _, operation := range given.Operations {
			patch.add(operation)
		}
		result = append(result, patch)
	}
	return result
}

// add takes an operation into the patch. One that cannot be read changes nothing.
func (p *comparePatch) add(operation fleet.Operation) {
	op := strings.ToLower(operation.Op)
	switch op {
	case ignoreOperation:
		p.ignore = true
	case "add", "remove", "replace", "test":
		if operation.Path == "" || operation.Path == "/" {
			return // the whole object: nothing would be left to compare
		}
		step := map[string]any{"op": op, "path": operation.Path}
		if op != "remove" {
			step["value"] = valueOf(operation.Value)
		}
		raw, err := json.Marshal([]any{step})
		if err != nil {
			return
		}
		if patch, err := jsonpatch.DecodePatch(raw); err == nil {
			p.steps = append(p.steps, patch)
		}
	}
}

// valueOf reads the value of an operation: JSON, or a plain text.
func valueOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// matches says whether the patch is about an object. The version of its kind does not matter, an empty namespace or name
// is any, and a regular expression has to cover the whole name.
func (p *comparePatch) matches(key Key) bool {
	if !p.covers(key) {
		return false
	}
	if p.name == "" || p.name == key.Name {
		return true
	}
	if p.expression == nil {
		return false
	}
	where := p.expression.FindStringIndex(key.Name)
	return where != nil && where[0] == 0 && where[1] == len(key.Name)
}

// ignores says whether it does not count that an object is missing or extra. Here a regular expression may cover a part
// of the name: so bundles were written.
func (p *comparePatch) ignores(key Key) bool {
	return p.ignore && p.covers(key) &&
		(p.name == "" || p.name == key.Name || (p.expression != nil && p.expression.MatchString(key.Name)))
}

func (p *comparePatch) covers(key Key) bool {
	return p.kind == key.Kind && p.group == key.Group && (p.namespace == "" || p.namespace == key.Namespace)
}

// apply changes one side of a comparison. A step whose path is not there changes nothing.
func (p *comparePatch) apply(object map[string]any) map[string]any {
	if len(p.steps) == 0 {
		return object
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return object
	}
	for _, step := range p.steps {
		if changed, err := step.Apply(raw); err == nil {
			raw = changed
		}
	}
	var changed map[string]any
	if err := utiljson.Unmarshal(raw, &changed); err != nil || changed == nil {
		return object
	}
	return changed
}
