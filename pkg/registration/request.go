package registration

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/names"
)

const (
	// RequestPrefix begins the name of every registration request.
	RequestPrefix  = "request-"
	randomAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	randomLength   = 54

	maxClientID     = 253
	maxClientRandom = 128
	maxLabels       = 64
	maxLabelKey     = 317
	maxLabelValue   = 63
)

// Random makes a token of 54 characters that nobody can guess.
func Random(random io.Reader) (string, error) {
	out := make([]byte, 0, randomLength)
	// A byte is used only below the largest multiple of the alphabet's size, or some characters would be likelier.
	limit := byte(256 / len(randomAlphabet) * len(randomAlphabet))
	var buffer [randomLength]byte
	for len(out) < randomLength {
		if _, err := io.ReadFull(random, buffer[:]); err != nil {
			return "", fmt.Errorf("reading randomness: %w", err)
		}
		for _, b := range buffer {
			if b < limit && len(out) < randomLength {
				out = append(out, randomAlphabet[int(b)%len(randomAlphabet)])
			}
		}
	}
	return string(out), nil
}

// RequestName makes the name of a request.
func RequestName(random io.Reader) (string, error) {
	suffix, err := Random(random)
	return RequestPrefix + suffix, err
}

// ValidateRequest bounds what an agent asks. It is the same check that the hub's admission policy makes.
func ValidateRequest(req *fleet.ClusterRegistration) error {
	var errs []error
	if !strings.HasPrefix(req.Name, RequestPrefix) {
		errs = append(errs, fmt.Errorf("metadata.name must begin with %q", RequestPrefix))
	}
	errs = append(errs, validateClientID(req.Spec.ClientID))
	if n := len(req.Spec.ClientRandom); n == 0 || n > maxClientRandom {
		errs = append(errs, fmt.Errorf("spec.clientRandom has %d bytes, must have 1 to %d", n, maxClientRandom))
	}
	errs = append(errs, validateLabels(req.Spec.ClusterLabels), validateIdentity(req.Spec.Identity))
	return errors.Join(errs...)
}

func validateClientID(id string) error {
	switch {
	case strings.TrimSpace(id) == "":
		return errors.New("spec.clientID is empty: it is the UID of the cluster's kube-system namespace, or what the agent's chart value clientID says")
	case len(id) > maxClientID:
		return fmt.Errorf("spec.clientID has %d bytes, may have %d", len(id), maxClientID)
	case !utf8.ValidString(id):
		return errors.New("spec.clientID is not valid UTF-8")
	}
	for _, r := range id {
		if r > unicode.MaxASCII || !unicode.IsGraphic(r) || r == ' ' || r == '/' || r == '\\' {
			return fmt.Errorf("spec.clientID contains %q: use ASCII letters, digits and punctuation without spaces and slashes", r)
		}
	}
	return nil
}

func validateLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return fmt.Errorf("spec.clusterLabels has %d entries, may have %d", len(labels), maxLabels)
	}
	for key, value := range labels {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 || len(key) > maxLabelKey {
			return fmt.Errorf("spec.clusterLabels: %.80q is no label key", key)
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 || len(value) > maxLabelValue {
			return fmt.Errorf("spec.clusterLabels[%s]: %.80q is no label value", key, value)
		}
	}
	return nil
}

func validateIdentity(id *fleet.RegistrationIdentity) error {
	if id == nil {
		return nil
	}
	var errs []error
	if id.PublicKey != "" {
		if _, err := decodePublicKey(id.PublicKey); err != nil {
			errs = append(errs, fmt.Errorf("spec.%w", err))
		}
	}
	if len(id.ClusterUID) > maxClientID {
		errs = append(errs, fmt.Errorf("spec.identity.clusterUID has %d bytes, may have %d", len(id.ClusterUID), maxClientID))
	}
	if len(id.Requester) > 2*maxClientID {
		errs = append(errs, fmt.Errorf("spec.identity.requester has %d bytes, may have %d", len(id.Requester), 2*maxClientID))
	}
	return errors.Join(errs...)
}

// IsReservedLabel says whether a label is the hub's or the manager's, and never an agent's to set.
func IsReservedLabel(key string) bool {
	if key == names.CreatedByAgentPodLabel {
		return false
	}
	return strings.HasPrefix(key, names.Prefix) || strings.HasPrefix(key, names.ManagementPrefix)
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
