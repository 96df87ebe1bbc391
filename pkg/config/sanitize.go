package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
	{"clusterOnDeleteTimeout"},
}

// dropBadDurations takes out of raw what a typed reading would fail on.
func dropBadDurations(raw map[string]any) []string {
	var warnings []string
	for _, path := range durationKeys {
		warnings = append(warnings, dropBadDuration(raw, path, "")...)
	}
	slices.Sort(warnings)
	return warnings
}

// dropBadDuration finds keys as the typed reading does, whatever their case.
func dropBadDuration(parent map[string]any, path []string, above string) []string {
	var warnings []string
	for key, value := range parent {
		if !strings.EqualFold(key, path[0]) {
			continue
		}
		if len(path) > 1 {
			nested, _ := value.(map[string]any)
			warnings = append(warnings, dropBadDuration(nested, path[1:], above+path[0]+".")...)
			continue
		}
		warning, ok := checkDuration(value)
		if !ok {
			delete(parent, key)
		}
		if warning != "" {
			warnings = append(warnings, fmt.Sprintf("%s%s: %s; the default is used", above, path[0], warning))
		}
	}
	return warnings
}

func checkDuration(value any) (warning string, ok bool) {
	switch v := value.(type) {
	case string:
		if _, err := time.ParseDuration(v); err != nil {
			return fmt.Sprintf("%.40q is not a duration such as 90s, 15m or 24h", v), false
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
		return "it is not a duration such as 90s, 15m or 24h", false
	}
}

// keepUsable puts back base's value where the document's could not be acted on.
func keepUsable(c *Config, base Config) []string {
	if c.AgentImage == "" {
		c.AgentImage = base.AgentImage // an agent without an image would end the one that runs
	}
	return slices.Concat(keepLeastDurations(c, base), keepKnownChoices(c, base), keepMaxUngranted(c, base), keepMaxUses(c), keepMaxUnavailable(c, base), keepCanary(c, base))
}

// keepLeastDurations undoes intervals that would make a timer fire without end, and lifetimes that no server grants.
func keepLeastDurations(c *Config, base Config) []string {
	var warnings []string
	for _, d := range []struct {
		key       string
		got, want *time.Duration
		least     time.Duration
	}{
		{"agentCheckinInterval", &c.AgentCheckinInterval.Duration, &base.AgentCheckinInterval.Duration, 0},
		{"agentHeartbeatInterval", &c.AgentHeartbeatInterval.Duration, &base.AgentHeartbeatInterval.Duration, time.Second},
		{"gitClientTimeout", &c.GitClientTimeout.Duration, &base.GitClientTimeout.Duration, 0},
		{"garbageCollectionInterval", &c.GarbageCollectionInterval.Duration, &base.GarbageCollectionInterval.Duration, 0},
		{"agentCredential.lifetime", &c.AgentCredential.Lifetime.Duration, &base.AgentCredential.Lifetime.Duration, 10 * time.Minute},
		{"agentCredential.agentInitiatedLifetime", &c.AgentCredential.AgentInitiatedLifetime.Duration, &base.AgentCredential.AgentInitiatedLifetime.Duration, 10 * time.Minute},
		{"registration.ttlUngranted", &c.Registration.TTLUngranted.Duration, &base.Registration.TTLUngranted.Duration, time.Minute},
		{"agentUpgrade.soak", &c.AgentUpgrade.Soak.Duration, &base.AgentUpgrade.Soak.Duration, 0},
		{"clusterOnDeleteTimeout", &c.ClusterOnDeleteTimeout.Duration, &base.ClusterOnDeleteTimeout.Duration, time.Second},
	} {
		if *d.got < d.least && *d.got != *d.want {
			warnings = append(warnings, fmt.Sprintf("%s: %s is below the least of %s; the default is used", d.key, *d.got, d.least))
			*d.got = *d.want
		}
	}
	return warnings
}

// keepKnownChoices leaves agentTLSMode alone: an import shows a wrong one at the cluster that it stops.
func keepKnownChoices(c *Config, base Config) []string {
	var warnings []string
	for _, choice := range []struct {
		key       string
		got       *string
		fallback  string
		supported []string
	}{
		{"agentCredential.onShortLifetime", &c.AgentCredential.OnShortLifetime, base.AgentCredential.OnShortLifetime, []string{ShortLifetimeSecret, ShortLifetimeRenewOnly}},
		{"clusterOnDelete", &c.ClusterOnDelete, base.ClusterOnDelete, []string{OnDeleteKeep, OnDeleteRemove}},
	} {
		if slices.Contains(choice.supported, *choice.got) {
			continue
		}
		if *choice.got != "" {
			warnings = append(warnings, fmt.Sprintf("%s: %.40q is none of %s; the default is used", choice.key, *choice.got, strings.Join(choice.supported, ", ")))
		}
		*choice.got = choice.fallback
	}
	return warnings
}

func keepMaxUngranted(c *Config, base Config) []string {
	got := c.Registration.MaxUngranted
	if got >= 1 || got == base.Registration.MaxUngranted {
		return nil
	}
	c.Registration.MaxUngranted = base.Registration.MaxUngranted
	return []string{fmt.Sprintf("registration.maxUngranted: %d is less than 1; the default is used", got)}
}

// keepMaxUses never reads a bound as none: whoever wrote one meant to have one.
func keepMaxUses(c *Config) []string {
	got := c.Registration.MaxUses
	bounded := min(max(got, 0), MostUses)
	if got < 0 {
		bounded = 1
	}
	if got == bounded {
		return nil
	}
	c.Registration.MaxUses = bounded
	return []string{fmt.Sprintf("registration.maxUses: %d is not from 1 to %d, nor 0 for no limit; %d is used", got, MostUses, bounded)}
}

func keepMaxUnavailable(c *Config, base Config) []string {
	got := c.AgentUpgrade.MaxUnavailable
	if got == nil {
		c.AgentUpgrade.MaxUnavailable = base.AgentUpgrade.MaxUnavailable
		return nil
	}
	if scaled, err := intstr.GetScaledValueFromIntOrPercent(got, 100, true); err == nil && scaled >= 0 {
		return nil
	}
	c.AgentUpgrade.MaxUnavailable = base.AgentUpgrade.MaxUnavailable
	return []string{fmt.Sprintf("agentUpgrade.maxUnavailable: %.40q is no number and no percentage; the default is used", got.String())}
}

// keepCanary undoes a selector that selects nothing because no label reads so.
func keepCanary(c *Config, base Config) []string {
	_, err := metav1.LabelSelectorAsSelector(c.AgentUpgrade.Canary)
	if err == nil {
		return nil
	}
	c.AgentUpgrade.Canary = base.AgentUpgrade.Canary
	return []string{fmt.Sprintf("agentUpgrade.canary: %s; the default is used", short(err))}
}
