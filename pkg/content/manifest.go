package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// maxID is how long the name of a Content is: a DNS label.
const maxID = 63

// Encodings of a resource.
const (
	// EncodingPlain is text as it is.
	EncodingPlain = ""
	// EncodingGzip is the base64 form of a gzip stream.
	EncodingGzip = "base64+gz"
)

// Manifest is the resources of a bundle, in the bundle's order. It does not change.
type Manifest struct {
	resources []fleet.BundleResource
	encoded   []byte
	sum       string
}

// document is the form in which a manifest is hashed and stored. It is part of the wire: another byte is another ID.
type document struct {
	Resources []fleet.BundleResource `json:"resources"`
}

// New makes the manifest of a bundle's resources. It refuses an encoding that no agent knows.
func New(resources []fleet.BundleResource) (*Manifest, error) {
	for i, resource := range resources {
		if err := checkEncoding(resource.Encoding); err != nil {
			return nil, fmt.Errorf("spec.resources[%d] (%s): %w", i, printable(resource.Name), err)
		}
	}
	var encoded bytes.Buffer
	if err := json.NewEncoder(&encoded).Encode(document{Resources: resources}); err != nil {
		return nil, fmt.Errorf("encoding spec.resources: %w", err)
	}
	return manifest(slices.Clone(resources), encoded.Bytes()), nil
}

// Parse reads a manifest from its stored form, uncompressed.
func Parse(data []byte) (*Manifest, error) {
	if len(data) > MaxUnpacked {
		return nil, &TooLargeError{What: "the manifest", Size: len(data), Limit: MaxUnpacked}
	}
	var d *document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("the manifest is not the JSON of a bundle's resources: %w", err)
	}
	if d == nil {
		return nil, errors.New("the manifest is empty: it has no resources, not even an empty list of them")
	}
	return manifest(d.Resources, bytes.Clone(data)), nil
}

func manifest(resources []fleet.BundleResource, encoded []byte) *Manifest {
	sum := sha256.Sum256(encoded)
	return &Manifest{resources: resources, encoded: encoded, sum: hex.EncodeToString(sum[:])}
}

// ID is the name of the Content that holds the manifest: a digest of it.
func (m *Manifest) ID() string {
	return ("s-" + m.sum)[:maxID]
}

// SHA256 is the whole digest, in hex.
func (m *Manifest) SHA256() string {
	return m.sum
}

// Resources are the resources in the bundle's order. The slice is the caller's.
func (m *Manifest) Resources() []fleet.BundleResource {
	return slices.Clone(m.resources)
}

func checkEncoding(encoding string) error {
	switch encoding {
	case EncodingPlain, EncodingGzip:
		return nil
	}
	return fmt.Errorf("the encoding %s is not known: leave it empty for plain text, or use %s", printable(encoding), EncodingGzip)
}
