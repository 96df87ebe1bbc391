package register

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/config"
	"github.com/rancher/fleet/pkg/names"
)

// optionsKey is the key of ConfigMap fleet-agent under which the chart says how it installed the agent.
const optionsKey = "options"

// maxOptions bounds that document, in bytes.
const maxOptions = 64 << 10

// settings is what the agent takes from its ConfigMap.
type settings struct {
	ClientID string
	Labels   map[string]string
	// TLSMode is empty where nobody says it, see kube.UpstreamConfig.
	TLSMode string
	// Options are nil where the ConfigMap has none.
	Options *fleet.AgentOptions
}

// readSettings reads ConfigMap fleet-agent; one that is missing says nothing. With an error the settings before are to be
// kept: trust must not change because of half a document. Warnings name what was left out.
func readSettings(cm *corev1.ConfigMap) (settings, []string, error) {
	var out settings
	if cm == nil {
		return out, nil, nil
	}
	parsed, warnings, err := config.Parse(cm.Data[names.ConfigKey], config.Default(""))
	if err != nil {
		return settings{}, nil, fmt.Errorf("ConfigMap %s/%s, key %q: %w", cm.Namespace, cm.Name, names.ConfigKey, err)
	}
	switch parsed.AgentTLSMode {
	case "", config.TLSStrict, config.TLSSystemStore:
		out.TLSMode = parsed.AgentTLSMode
	default:
		return settings{}, nil, fmt.Errorf("ConfigMap %s/%s, key %q: agentTLSMode is %.40q, it must be %q or %q",
			cm.Namespace, cm.Name, names.ConfigKey, parsed.AgentTLSMode, config.TLSStrict, config.TLSSystemStore)
	}
	out.ClientID, out.Labels = parsed.ClientID, parsed.Labels
	if out.Options, err = readOptions(cm.Data[optionsKey]); err != nil {
		warnings = append(warnings, fmt.Sprintf("key %q is left out: %v", optionsKey, err))
	}
	return out, warnings, nil
}

func readOptions(document string) (*fleet.AgentOptions, error) {
	switch {
	case document == "":
		return nil, nil
	case len(document) > maxOptions:
		return nil, fmt.Errorf("it has %d bytes, at most %d are read", len(document), maxOptions)
	}
	var options fleet.AgentOptions
	if err := json.Unmarshal([]byte(document), &options); err != nil {
		// The decoder may quote what it stumbled over, and a proxy's address may hold a password.
		return nil, errors.New("it is not the JSON of an agent's options")
	}
	return &options, nil
}
