package registration

import (
	"strings"

	"github.com/rancher/fleet/pkg/names"
)

// IsReservedLabel says whether a label is the hub's, the manager's or the apply engine's, and never an agent's to set.
func IsReservedLabel(key string) bool {
	if key == names.CreatedByAgentPodLabel {
		return false
	}
	for _, prefix := range []string{names.Prefix, names.ManagementPrefix, names.ApplyPrefix} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// SanitizeLabels drops reserved labels. The result is never nil.
func SanitizeLabels(labels map[string]string) map[string]string {
	clean := make(map[string]string, len(labels))
	for key, value := range labels {
		if !IsReservedLabel(key) {
			clean[key] = value
		}
	}
	return clean
}
