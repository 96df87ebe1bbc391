package drift

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a status repeats of the cluster's objects, in bytes.
const (
	maxPatch   = 1024
	maxMessage = 1024
	// maxReason and maxReasons bound the messages of one object that is not ready.
	maxReason  = 256
	maxReasons = 4
	maxState   = 64
)

// bounded is a text as one line of at most max bytes: what cannot be printed becomes a space, what was cut ends in dots.
func bounded(text string, max int) string {
	const more = "..."
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text[:min(len(text), 4*max)])
	if len(text) <= max {
		return text
	}
	cut := max - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// hidden stands for a value of a Secret.
const hidden = "(hidden)"

// patchText is a change as the status shows it: without the values of Secrets, and bounded. It is empty for none.
func patchText(key Key, change map[string]any) string {
	if len(change) == 0 {
		return ""
	}
	if key.Group == "" && key.Kind == "Secret" {
		change = withoutValues(change)
	}
	raw, err := json.Marshal(change)
	if err != nil {
		return "{}"
	}
	return bounded(string(raw), maxPatch)
}

// withoutValues is the change of a Secret without its data. Annotations may repeat them.
func withoutValues(change map[string]any) map[string]any {
	result := make(map[string]any, len(change))
	for name, value := range change {
		if fields, ok := value.(map[string]any); ok {
			value = withoutValues(fields)
		} else if name != "type" && name != "immutable" {
			value = hidden
		}
		result[name] = value
	}
	return result
}
