package registration

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/rancher/fleet/pkg/names"
)

// Keys of the bootstrap secret and of the values document of a registration token.
const (
	KeyAPIServerURL                = "apiServerURL"
	KeyAPIServerCA                 = "apiServerCA"
	KeyClusterNamespace            = "clusterNamespace"
	KeyToken                       = "token"
	KeyTokenName                   = "tokenName"
	KeySystemRegistrationNamespace = "systemRegistrationNamespace"
	KeyValues                      = "values"
	keyInternal                    = "internal"
	keyInternalSystemNamespace     = "systemNamespace"
)

// Bounds of untrusted documents, in bytes.
const (
	maxValues = 256 << 10
	maxToken  = 16 << 10
	// maxSealed is a token with the seal around it, in base64.
	maxSealed = 2 * maxToken
)

// Bootstrap is what an agent needs to ask for its registration.
type Bootstrap struct {
	APIServerURL                string
	APIServerCA                 []byte
	ClusterNamespace            string
	Token                       string
	TokenName                   string
	SystemRegistrationNamespace string
	// SystemNamespace is set where the hub's is not the default one.
	SystemNamespace string
}

// ParseBootstrap reads the data of Secret fleet-agent-bootstrap: single keys, or one key "values" that holds the whole
// document. An error names the key that is missing or wrong; such a secret may be half written and is worth another look
// when it changes.
func ParseBootstrap(data map[string][]byte) (Bootstrap, error) {
	if document, ok := data[KeyValues]; ok {
		return ParseValues(document)
	}
	fields := make(map[string]string, len(data))
	for key, value := range data {
		fields[key] = string(value)
	}
	return bootstrapFrom(fields, "")
}

// ParseValues reads the document that a registration token's secret holds under "values".
func ParseValues(document []byte) (Bootstrap, error) {
	if len(document) > maxValues {
		return Bootstrap{}, fmt.Errorf("key %q has %d bytes, more than the %d that are read", KeyValues, len(document), maxValues)
	}
	var raw map[string]any
	if yaml.Unmarshal(document, &raw) != nil {
		// The parser's own words may repeat a piece of the token.
		return Bootstrap{}, fmt.Errorf("key %q is not a YAML mapping", KeyValues)
	}
	fields := map[string]string{}
	for key, value := range raw {
		if s, ok := value.(string); ok {
			fields[key] = s
		}
	}
	var systemNamespace string
	if internal, ok := raw[keyInternal].(map[string]any); ok {
		systemNamespace, _ = internal[keyInternalSystemNamespace].(string)
	}
	return bootstrapFrom(fields, systemNamespace)
}

func bootstrapFrom(fields map[string]string, systemNamespace string) (Bootstrap, error) {
	b := Bootstrap{
		APIServerURL:                strings.TrimSpace(fields[KeyAPIServerURL]),
		ClusterNamespace:            strings.TrimSpace(fields[KeyClusterNamespace]),
		Token:                       strings.TrimSpace(fields[KeyToken]),
		TokenName:                   strings.TrimSpace(fields[KeyTokenName]),
		SystemRegistrationNamespace: strings.TrimSpace(fields[KeySystemRegistrationNamespace]),
		SystemNamespace:             strings.TrimSpace(systemNamespace),
	}
	if ca := strings.TrimSpace(fields[KeyAPIServerCA]); ca != "" {
		b.APIServerCA = []byte(fields[KeyAPIServerCA])
	}
	return b, b.Validate()
}

// Validate names every key that is missing or cannot be used.
func (b Bootstrap) Validate() error {
	var errs []error
	errs = append(errs, validateServerURL(b.APIServerURL), validateCA(b.APIServerCA))
	errs = append(errs, validateNamespace(KeyClusterNamespace, b.ClusterNamespace))
	errs = append(errs, validateNamespace(KeySystemRegistrationNamespace, b.SystemRegistrationNamespace))
	if b.SystemNamespace != "" {
		errs = append(errs, validateNamespace(keyInternal+"."+keyInternalSystemNamespace, b.SystemNamespace))
	}
	switch {
	case b.Token == "":
		errs = append(errs, fmt.Errorf("key %q is empty: take it from the secret of a ClusterRegistrationToken on the hub", KeyToken))
	case len(b.Token) > maxToken:
		errs = append(errs, fmt.Errorf("key %q has %d bytes, more than a token can have", KeyToken, len(b.Token)))
	case !isPlain(b.Token):
		errs = append(errs, fmt.Errorf("key %q has characters that no token has: was it encoded twice, or cut?", KeyToken))
	}
	if b.TokenName != "" {
		if problems := validation.IsDNS1123Subdomain(b.TokenName); len(problems) > 0 {
			errs = append(errs, fmt.Errorf("key %q: %.80q is no name of a ClusterRegistrationToken: %s", KeyTokenName, b.TokenName, problems[0]))
		}
	}
	return errors.Join(errs...)
}

func validateNamespace(key, value string) error {
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return fmt.Errorf("key %q: %.80q is no namespace: %s", key, value, problems[0])
	}
	return nil
}

// isPlain says whether s has graphic ASCII alone, no space among it.
func isPlain(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }) < 0
}

func validateServerURL(raw string) error {
	if raw == "" {
		return fmt.Errorf("key %q is empty: give the hub's address, such as https://hub.example.com", KeyAPIServerURL)
	}
	u, err := url.Parse(raw)
	if err != nil || !isPlain(raw) {
		return fmt.Errorf("key %q cannot be read as a URL", KeyAPIServerURL)
	}
	if u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("key %q must be an https URL with a host and without user, query and fragment, such as https://hub.example.com", KeyAPIServerURL)
	}
	return nil
}

// validateCA refuses what no PEM file has, before a document bends it into something else. Whether there is a certificate in
// it is for those to say who trust it.
func validateCA(ca []byte) error {
	if utf8.Valid(ca) && strings.IndexFunc(string(ca), notInText) < 0 {
		return nil
	}
	return fmt.Errorf("key %q has characters that no PEM text has: give the certificate as PEM, not as DER, and encode it once", KeyAPIServerCA)
}

// notInText is what YAML cannot hold either.
func notInText(r rune) bool {
	return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) || r == '\ufffe' || r == '\uffff'
}

// ValidateServerURL checks the hub's address as it stands in a configuration or in a secret.
func ValidateServerURL(raw string) error { return validateServerURL(raw) }

// Values is the document of a registration token: it is also a values file of the fleet-agent chart.
func (b Bootstrap) Values() ([]byte, error) {
	if err := validateCA(b.APIServerCA); err != nil {
		return nil, err
	}
	document := map[string]any{
		KeyClusterNamespace:            b.ClusterNamespace,
		KeyAPIServerURL:                b.APIServerURL,
		KeyAPIServerCA:                 string(b.APIServerCA),
		KeyToken:                       b.Token,
		KeySystemRegistrationNamespace: b.SystemRegistrationNamespace,
		KeyTokenName:                   b.TokenName,
	}
	if b.SystemNamespace != "" && b.SystemNamespace != names.DefaultSystemNamespace {
		document[keyInternal] = map[string]any{keyInternalSystemNamespace: b.SystemNamespace}
	}
	return yaml.Marshal(document)
}

// SecretData is the data of Secret fleet-agent-bootstrap.
func (b Bootstrap) SecretData() map[string][]byte {
	return map[string][]byte{
		KeyClusterNamespace:            []byte(b.ClusterNamespace),
		KeyAPIServerURL:                []byte(b.APIServerURL),
		KeyAPIServerCA:                 b.APIServerCA,
		KeyToken:                       []byte(b.Token),
		KeySystemRegistrationNamespace: []byte(b.SystemRegistrationNamespace),
		KeyTokenName:                   []byte(b.TokenName),
	}
}
