package preflight

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/kube"
	"github.com/rancher/fleet/pkg/registration"
)

// Kind is what an input is.
type Kind string

// Kinds of input.
const (
	// KindKubeconfig is what the hub reaches a cluster with.
	KindKubeconfig Kind = "kubeconfig"
	// KindValues is what a registration token gives to those who install the chart fleet-agent.
	KindValues Kind = "values"
)

// MaxInput is the largest input that is read, in bytes. A Secret in base64 with a kubeconfig in it is not larger.
const MaxInput = 2 * kube.MaxKubeconfig

// keyKubeconfig is the key of a kubeconfig in its Secret.
const keyKubeconfig = "value"

// Input is a document that was recognised.
type Input struct {
	Kind Kind
	// Document is the kubeconfig or the values.
	Document []byte
	// FromSecret says that it came in a Secret, as it lies on the hub. ServerURL and ServerCA are then the further keys of
	// a kubeconfig's Secret, by which agents reach the hub.
	FromSecret bool
	ServerURL  string
	ServerCA   []byte
}

// Recognize tells by its content what a document is. An error says what else to give.
func Recognize(document []byte) (Input, error) {
	if len(document) > MaxInput {
		return Input{}, fmt.Errorf("it has more than the %d bytes that are read", MaxInput)
	}
	if len(bytes.TrimSpace(document)) == 0 {
		return Input{}, errors.New("it is empty")
	}
	var fields map[string]any
	if yaml.Unmarshal(document, &fields) != nil || fields == nil {
		// The parser's own words may repeat a piece of a token.
		return Input{}, errors.New("it is no YAML or JSON mapping")
	}
	if fields["kind"] == "Secret" {
		return fromSecret(fields)
	}
	kind, err := kindOf(fields)
	if err != nil {
		return Input{}, err
	}
	return Input{Kind: kind, Document: document}, nil
}

func kindOf(fields map[string]any) (Kind, error) {
	kubeconfig := hasAny(fields, "clusters", "contexts", "users", "current-context") || fields["kind"] == "Config"
	values := hasAny(fields, registration.KeyAPIServerURL, registration.KeyToken, registration.KeyTokenName,
		registration.KeyClusterNamespace, "existingSecret")
	switch {
	case kubeconfig && values:
		return "", errors.New("it has keys of a kubeconfig and of a token's values")
	case kubeconfig:
		return KindKubeconfig, nil
	case values:
		return KindValues, nil
	}
	return "", errors.New("it has none of the keys of a kubeconfig (clusters, contexts, users) and none of a token's values (apiServerURL, token, tokenName)")
}

func hasAny(fields map[string]any, keys ...string) bool {
	for _, key := range keys {
		if _, ok := fields[key]; ok {
			return true
		}
	}
	return false
}

// fromSecret reads a Secret as kubectl prints it.
func fromSecret(fields map[string]any) (Input, error) {
	data := map[string][]byte{}
	encoded, _ := fields["data"].(map[string]any)
	for key, value := range encoded {
		text, _ := value.(string)
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return Input{}, fmt.Errorf("it is a Secret whose key %q is no base64", word(key))
		}
		data[key] = raw
	}
	plain, _ := fields["stringData"].(map[string]any)
	for key, value := range plain {
		text, _ := value.(string)
		data[key] = []byte(text)
	}
	kubeconfig, values := data[keyKubeconfig], data[registration.KeyValues]
	switch {
	case len(kubeconfig) > 0 && len(values) > 0:
		return Input{}, fmt.Errorf("it is a Secret with both keys %q and %q", keyKubeconfig, registration.KeyValues)
	case len(kubeconfig) > 0:
		return Input{
			Kind: KindKubeconfig, Document: kubeconfig, FromSecret: true,
			ServerURL: string(data[registration.KeyAPIServerURL]), ServerCA: data[registration.KeyAPIServerCA],
		}, nil
	case len(values) > 0:
		return Input{Kind: KindValues, Document: values, FromSecret: true}, nil
	case len(data[registration.KeyToken]) > 0:
		return fromBootstrapSecret(data)
	}
	return Input{}, fmt.Errorf("it is a Secret with neither key %q (a kubeconfig) nor key %q (a token's values)", keyKubeconfig, registration.KeyValues)
}

// fromBootstrapSecret reads the Secret that an agent is given, with a key for each value.
func fromBootstrapSecret(data map[string][]byte) (Input, error) {
	values := map[string]string{}
	for key, value := range data {
		values[key] = string(value)
	}
	document, err := yaml.Marshal(values)
	if err != nil {
		return Input{}, errors.New("it is a Secret with values that are no text")
	}
	return Input{Kind: KindValues, Document: document, FromSecret: true}, nil
}
