package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// maxDocument bounds a configuration document, in bytes; it is the API server's own bound of a ConfigMap.
const maxDocument = 1 << 20

// Parse reads a YAML or JSON document on top of base, which stays as it is. A duration that cannot be read and a choice that
// does not exist are left out, so that base's holds, and named in a warning: a typing error in one interval must not take
// the hub down. A document that is no mapping is an error, and base is returned with it.
func Parse(document string, base Config) (Config, []string, error) {
	if len(document) > maxDocument {
		return base, nil, fmt.Errorf("configuration has %d bytes, more than the %d that are read", len(document), maxDocument)
	}
	if strings.TrimSpace(document) == "" {
		return base, nil, nil
	}
	var raw map[string]any
	if err := yaml.Unmarshal([]byte(document), &raw); err != nil {
		return base, nil, fmt.Errorf("configuration is not a YAML or JSON mapping: %s", short(err))
	}
	warnings := dropBadDurations(raw)
	clean, err := json.Marshal(raw)
	if err != nil {
		return base, warnings, fmt.Errorf("configuration cannot be read: %s", short(err))
	}
	parsed, err := copyOf(base)
	if err != nil {
		return base, warnings, err
	}
	// Decoded onto another value, a number would keep its text.
	parsed.AgentUpgrade.MaxUnavailable = nil
	if err := json.Unmarshal(clean, &parsed); err != nil {
		return base, warnings, fmt.Errorf("configuration has a value of the wrong type: %s", short(err))
	}
	return parsed, append(warnings, keepUsable(&parsed, base)...), nil
}

// maxProblem is how many characters of a parser's words are repeated.
const maxProblem = 200

// short is what a parser says, in one line. It repeats pieces of the document, which can be of any length.
func short(err error) string {
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, err.Error()))
	if len(text) > maxProblem {
		return string(text[:maxProblem]) + "…"
	}
	return string(text)
}

// copyOf shares nothing with c: decoding writes through the pointers, maps and slices that it finds.
func copyOf(c Config) (Config, error) {
	var out Config
	raw, err := json.Marshal(c)
	if err != nil {
		return out, fmt.Errorf("configuration in force cannot be copied: %w", err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("configuration in force cannot be copied: %w", err)
	}
	return out, nil
}
