package agentmanifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
	"github.com/rancher/fleet/pkg/registration"
)

// AgentConfig is what an agent reads from its ConfigMap.
type AgentConfig struct {
	// Labels are those of the Cluster; the agent repeats them when it registers, unless they are too many for that.
	Labels                    map[string]string
	ClientID                  string
	AgentTLSMode              string
	GarbageCollectionInterval time.Duration
}

// agentConfigDocument is AgentConfig as it is written.
type agentConfigDocument struct {
	Labels                    map[string]string `json:"labels,omitempty"`
	ClientID                  string            `json:"clientID,omitempty"`
	AgentTLSMode              string            `json:"agentTLSMode"`
	GarbageCollectionInterval *metav1.Duration  `json:"garbageCollectionInterval,omitempty"`
}

// BootstrapSecret carries what an agent needs to register: where the hub is, and the token of the import account.
func BootstrapSecret(ns string, values map[string]string) *corev1.Secret {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: names.AgentBootstrapSecret},
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

// ConfigMap is the agent's configuration.
func ConfigMap(ns string, cfg AgentConfig) (*corev1.ConfigMap, error) {
	if cfg.AgentTLSMode != config.TLSStrict && cfg.AgentTLSMode != config.TLSSystemStore {
		return nil, fmt.Errorf("agent ConfigMap %s/%s: agentTLSMode %q: set it to %q or %q in the configuration",
			ns, names.AgentConfigMap, cfg.AgentTLSMode, config.TLSStrict, config.TLSSystemStore)
	}
	if cfg.ClientID != "" {
		// The hub would refuse the request of an agent that was told so.
		if err := registration.ValidateClientID(cfg.ClientID); err != nil {
			return nil, err
		}
	}
	document := agentConfigDocument{
		Labels:       registration.SendableLabels(CleanLabels(cfg.Labels)),
		ClientID:     cfg.ClientID,
		AgentTLSMode: cfg.AgentTLSMode,
	}
	if cfg.GarbageCollectionInterval != 0 {
		document.GarbageCollectionInterval = &metav1.Duration{Duration: cfg.GarbageCollectionInterval}
	}
	data, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("agent ConfigMap %s/%s: encoding: %w", ns, names.AgentConfigMap, err)
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: names.AgentConfigMap},
		Data:       map[string]string{names.ConfigKey: string(data)},
	}, nil
}

// CleanLabels leaves out the labels that belong to tools and managers, not to the cluster. What is left may be given by
// the agent when it registers; the result is never nil.
func CleanLabels(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels))
	for key, value := range labels {
		if strings.HasPrefix(key, "kubectl.kubernetes.io/") || strings.Contains(key, "cattle.io/") {
			continue
		}
		out[key] = value
	}
	return out
}
