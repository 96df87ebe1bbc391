package registration

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// Slim takes out of a request what is larger than any that is granted, before it is kept in memory. The API server accepts
// a megabyte and more from whoever holds a token, and a hub keeps all requests of all workspaces. What is cut is still
// longer than it may be, so that the request is refused for what it was.
func Slim(r *fleet.ClusterRegistration) {
	cut(&r.Spec.ClientID, maxClientID)
	cut(&r.Spec.ClientRandom, maxClientRandom)
	if id := r.Spec.Identity; id != nil {
		cut(&id.PublicKey, maxRequester)
		cut(&id.ClusterUID, maxRequester)
		cut(&id.Requester, maxRequester)
	}
	if agent := r.Spec.Agent; agent != nil {
		cut(&agent.Version, maxAgentVersion)
		agent.Options = slimOptions(agent.Options)
	}
	r.Spec.ClusterLabels = slimMap(r.Spec.ClusterLabels, maxLabels+2, maxLabelKey, maxLabelKey)
	r.Annotations = slimMap(r.Annotations, maxMetadataBytes, maxMetadataBytes, maxMetadataBytes)
	r.Labels = slimMap(r.Labels, maxMetadataBytes, maxMetadataBytes, maxMetadataBytes)
}

// slimOptions stand for options that are too large: nothing of them would be taken over.
func slimOptions(options *fleet.AgentOptions) *fleet.AgentOptions {
	raw, err := json.Marshal(options)
	if err == nil && len(raw) <= maxAgentOptions+1 {
		return options
	}
	const name = "TOO_LARGE"
	return &fleet.AgentOptions{EnvVars: []corev1.EnvVar{{Name: name, Value: strings.Repeat("x", maxAgentOptions-len(`{"envVars":[{"name":"","value":""}]}`)-len(name)+1)}}}
}

// cut leaves one byte more than is allowed.
func cut(text *string, limit int) {
	if len(*text) > limit+1 {
		*text = string([]byte((*text)[:limit+1])) // a copy, or the whole stayed in memory
	}
}

// slimMap leaves so many entries, the first by their keys, and of each what is one byte too long.
func slimMap(entries map[string]string, number, keyLimit, valueLimit int) map[string]string {
	size := 0
	for key, value := range entries {
		size += len(key) + len(value)
	}
	if len(entries) <= number && size <= maxMetadataBytes {
		return entries
	}
	slim, size := map[string]string{}, 0
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		value := entries[key]
		cut(&key, keyLimit)
		cut(&value, valueLimit)
		slim[key] = value
		if size += len(key) + len(value); len(slim) >= number || size > maxMetadataBytes {
			break
		}
	}
	return slim
}
