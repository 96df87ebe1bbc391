package config

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// maxDocument bounds a configuration document, in bytes; it is the API server's own bound of a ConfigMap.
const maxDocument = 1 << 20

// durationKeys are the keys whose value is a duration, as paths.
var durationKeys = [][]string{
	{"agentCheckinInterval"},
	{"agentHeartbeatInterval"},
	{"gitClientTimeout"},
	{"garbageCollectionInterval"},
	{"agentCredential", "lifetime"},
	{"agentCredential", "agentInitiatedLifetime"},
	{"registration", "ttlUngranted"},
	{"agentUpgrade", "soak"},
}

// Parse reads a YAML or JSON document on top of base. A duration that cannot be read is left out, so that base's holds,
// and named in a warning: a typing error in one interval must not take the hub down. A document that is no mapping is an
// error, and base is returned with it.
func Parse(document string, base Config) (Config, []string, error) {
	if len(document) > maxDocument {
		return base, nil, fmt.Errorf("configuration has %d bytes, more than the %d that are read", len(document), maxDocument)
	}
	if strings.TrimSpace(document) == "" {
		return base, nil, nil
	}
	var raw map[string]any
	if err := yaml.Unmarshal([]byte(document), &raw); err != nil {
		return base, nil, fmt.Errorf("configuration is not a YAML or JSON mapping: %w", err)
	}
	warnings := dropBadDurations(raw)
	clean, err := json.Marshal(raw)
	if err != nil {
		return base, warnings, fmt.Errorf("configuration cannot be read: %w", err)
	}
	parsed := base
	if err := json.Unmarshal(clean, &parsed); err != nil {
		return base, warnings, fmt.Errorf("configuration has a value of the wrong type: %w", err)
	}
	return parsed, append(warnings, keepNonNegative(&parsed, base)...), nil
}

func dropBadDurations(raw map[string]any) []string {
	var warnings []string
	for _, path := range durationKeys {
		parent := raw
		for _, key := range path[:len(path)-1] {
			parent, _ = parent[key].(map[string]any)
		}
		key := path[len(path)-1]
		value, found := parent[key]
		if !found {
			continue
		}
		if warning, ok := checkDuration(value); !ok {
			delete(parent, key)
			if warning != "" {
				warnings = append(warnings, fmt.Sprintf("%s: %s; the default is used", strings.Join(path, "."), warning))
			}
		}
	}
	sort.Strings(warnings)
	return warnings
}

func checkDuration(value any) (warning string, ok bool) {
	switch v := value.(type) {
	case string:
		if _, err := time.ParseDuration(v); err != nil {
			return fmt.Sprintf("%q is not a duration such as 90s, 15m or 24h", v), false
		}
		return "", true
	case float64:
		if v == 0 {
			return "", false
		}
		return fmt.Sprintf("%v has no unit, write for example %vs", v, v), false
	case nil:
		return "", false
	default:
		return fmt.Sprintf("%v is not a duration such as 90s, 15m or 24h", v), false
	}
}

// keepNonNegative undoes intervals that would make a timer fire without end.
func keepNonNegative(c *Config, base Config) []string {
	var warnings []string
	for _, d := range []struct {
		key       string
		got, want *time.Duration
		min       time.Duration
	}{
		{"agentCheckinInterval", &c.AgentCheckinInterval.Duration, &base.AgentCheckinInterval.Duration, 0},
		{"agentHeartbeatInterval", &c.AgentHeartbeatInterval.Duration, &base.AgentHeartbeatInterval.Duration, time.Second},
		{"garbageCollectionInterval", &c.GarbageCollectionInterval.Duration, &base.GarbageCollectionInterval.Duration, 0},
		{"agentCredential.lifetime", &c.AgentCredential.Lifetime.Duration, &base.AgentCredential.Lifetime.Duration, 10 * time.Minute},
		{"agentCredential.agentInitiatedLifetime", &c.AgentCredential.AgentInitiatedLifetime.Duration, &base.AgentCredential.AgentInitiatedLifetime.Duration, 10 * time.Minute},
		{"registration.ttlUngranted", &c.Registration.TTLUngranted.Duration, &base.Registration.TTLUngranted.Duration, time.Minute},
		{"agentUpgrade.soak", &c.AgentUpgrade.Soak.Duration, &base.AgentUpgrade.Soak.Duration, 0},
	} {
		if *d.got < d.min {
			warnings = append(warnings, fmt.Sprintf("%s: %s is below the least of %s; the default is used", d.key, *d.got, d.min))
			*d.got = *d.want
		}
	}
	return warnings
}
