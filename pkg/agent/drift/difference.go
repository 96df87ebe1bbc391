package drift

import (
	"fmt"
	"slices"
)

// difference are the fields of want that have lacks or holds otherwise, nil if there are none. What only have has is no
// difference: neither a field, nor an element of a list whose elements have names.
func difference(want, have map[string]any, s shape) map[string]any {
	var result map[string]any
	for name, value := range want {
		live, exists := have[name]
		if patch, differs := differs(name, value, live, exists, s); differs {
			if result == nil {
				result = map[string]any{}
			}
			result[name] = patch
		}
	}
	return result
}

// differs compares the field name of a value of shape s.
func differs(name string, want, have any, exists bool, s shape) (patch any, differs bool) {
	if want == nil {
		return nil, false
	}
	if !exists || have == nil {
		return want, s.says(name, want)
	}
	switch value := want.(type) {
	case map[string]any:
		live, ok := have.(map[string]any)
		if !ok {
			return want, true
		}
		inner := difference(value, live, s.field(name))
		return inner, inner != nil
	case []any:
		live, ok := have.([]any)
		if !ok {
			return want, true
		}
		element, merged, key := s.list(name)
		switch {
		case merged && key != "":
			return differsByKey(value, live, key, element)
		case merged:
			return differsAsSet(value, live, element)
		default:
			return value, differsInOrder(value, live, element)
		}
	default:
		return want, !equal(want, have)
	}
}

// differsInOrder compares lists whose elements have no names, one by one. The server may have set more fields of them.
func differsInOrder(want, have []any, element shape) bool {
	if len(want) != len(have) {
		return true
	}
	for i := range want {
		if elementDiffers(want[i], have[i], element) {
			return true
		}
	}
	return false
}

func elementDiffers(want, have any, element shape) bool {
	switch value := want.(type) {
	case map[string]any:
		live, ok := have.(map[string]any)
		return !ok || difference(value, live, element) != nil
	case []any:
		live, ok := have.([]any)
		return !ok || differsInOrder(value, live, shape{exact: element.exact})
	default:
		return !equal(want, have)
	}
}

func differsAsSet(want, have []any, element shape) (patch any, differs bool) {
	var missing []any
	for _, value := range want {
		if !slices.ContainsFunc(have, func(live any) bool { return !elementDiffers(value, live, element) }) {
			missing = append(missing, value)
		}
	}
	return missing, len(missing) > 0
}

// differsByKey compares lists whose elements have names. Some names stand more than once, such as the number of a port
// with two protocols: then an element that is equal is looked for first.
func differsByKey(want, have []any, key string, element shape) (patch any, differs bool) {
	var result []any
	taken := make([]bool, len(have))
	for _, value := range want {
		fields, ok := value.(map[string]any)
		if !ok {
			return want, differsInOrder(want, have, element) // what has no fields has no name
		}
		best, found := -1, map[string]any(nil)
		for i := range have {
			live, ok := have[i].(map[string]any)
			if !ok || taken[i] || !equal(fields[key], live[key]) {
				continue
			}
			inner := difference(fields, live, element)
			if best < 0 || inner == nil {
				best, found = i, inner
			}
			if inner == nil {
				break
			}
		}
		if best < 0 {
			result = append(result, value)
			continue
		}
		taken[best] = true
		if found != nil {
			found[key] = fields[key]
			result = append(result, found)
		}
	}
	return result, len(result) > 0
}

// equal compares scalars. A number or a boolean equals the text that writes it: which of the two is meant is the
// kind's business, and a server that minds would have refused the other.
func equal(want, have any) bool {
	switch have.(type) {
	case map[string]any, []any:
		return false
	}
	switch want := want.(type) {
	case string:
		text, ok := have.(string)
		return (ok && text == want) || (!ok && have != nil && fmt.Sprint(have) == want)
	case bool:
		return fmt.Sprint(want) == fmt.Sprint(have)
	case int64:
		if live, ok := have.(float64); ok {
			return float64(want) == live
		}
		return fmt.Sprint(want) == fmt.Sprint(have)
	case float64:
		if live, ok := have.(int64); ok {
			return want == float64(live)
		}
		return fmt.Sprint(want) == fmt.Sprint(have)
	default:
		return want == nil && have == nil
	}
}
