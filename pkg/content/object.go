package content

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// frame is how much of a stored Content is not its data: kind, name, digest, and what the API server adds.
const frame = 2 << 10

// Content is the object that holds the manifest. A manifest that no API server takes is a TooLargeError.
func (m *Manifest) Content() (*fleet.Content, error) {
	packed, err := pack(m.encoded)
	if err != nil {
		return nil, fmt.Errorf("compressing the content %s: %w", m.ID(), err)
	}
	if size := base64.StdEncoding.EncodedLen(len(packed)) + frame; size > MaxObject {
		return nil, &TooLargeError{
			What: "the bundle's content, compressed,", Size: size, Limit: MaxObject,
			Remedy: "split the bundle, remove files that are not deployed, or name a chart by helm.repo instead of including it",
		}
	}
	return &fleet.Content{
		TypeMeta:   metav1.TypeMeta{APIVersion: "fleet.cattle.io/v1alpha1", Kind: "Content"},
		ObjectMeta: metav1.ObjectMeta{Name: m.ID()},
		Content:    packed,
		SHA256Sum:  m.sum,
	}, nil
}

// Decode unpacks a Content and checks that it is the one that its name promises. An empty or damaged one is an error,
// never an empty manifest: what is deployed must not vanish because its content did.
func Decode(c *fleet.Content) (*Manifest, error) {
	if len(c.Content) == 0 {
		return nil, fmt.Errorf("the content %s is empty", printable(c.Name))
	}
	data, err := unpack(c.Content, MaxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("unpacking the content %s: %w", printable(c.Name), err)
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading the content %s: %w", printable(c.Name), err)
	}
	// Contents of old releases have no digest; the name is one, too.
	if c.SHA256Sum != "" && c.SHA256Sum != m.sum {
		return nil, fmt.Errorf("the content %s is damaged: its sha256sum does not match what it holds", printable(c.Name))
	}
	if c.Name != m.ID() {
		return nil, fmt.Errorf("the content %s is damaged: what it holds belongs to %s", printable(c.Name), m.ID())
	}
	return m, nil
}

func pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// unpack reads a gzip stream up to limit bytes; what is longer is a TooLargeError, found before it is in memory.
func unpack(packed []byte, limit int) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(reader, int64(limit)+1))
	if len(data) > limit {
		return nil, &TooLargeError{What: "what is packed here", Size: len(data), Limit: limit}
	}
	return data, errors.Join(err, reader.Close())
}
