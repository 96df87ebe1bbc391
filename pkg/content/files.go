package content

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
)

// File is a resource, decoded.
type File struct {
	// Name is the path, relative to the bundle, with slashes, and without a way out of it.
	Name string
	// Data is the content.
	Data []byte
}

// Files decodes all resources, in the bundle's order.
func (m *Manifest) Files() ([]File, error) {
	if len(m.resources) > MaxFiles {
		return nil, fmt.Errorf("the bundle has %d resources, of at most %d", len(m.resources), MaxFiles)
	}
	files := make([]File, 0, len(m.resources))
	seen := make(map[string]int, len(m.resources))
	left := MaxFileBytes
	for i, resource := range m.resources {
		file, err := decode(i, resource, left)
		if err != nil {
			return nil, fmt.Errorf("resource %d (%s): %w", i, printable(resource.Name), err)
		}
		left -= len(file.Data)
		if at, twice := seen[file.Name]; twice {
			if bytes.Equal(files[at].Data, file.Data) {
				continue
			}
			return nil, fmt.Errorf("the bundle has two different resources with the name %s: rename one", printable(file.Name))
		}
		seen[file.Name] = len(files)
		files = append(files, file)
	}
	return files, nil
}

func decode(index int, resource fleet.BundleResource, left int) (File, error) {
	name := resource.Name
	if name == "" {
		// Bundles that people write by hand name no file for a single manifest.
		name = fmt.Sprintf("resource-%03d.yaml", index)
	}
	if err := CheckName(name); err != nil {
		return File{}, err
	}
	data, err := decodeData(resource, left)
	return File{Name: path.Clean(name), Data: data}, err
}

func decodeData(resource fleet.BundleResource, left int) ([]byte, error) {
	if err := checkEncoding(resource.Encoding); err != nil {
		return nil, err
	}
	if resource.Encoding == EncodingPlain {
		if len(resource.Content) > left {
			return nil, &TooLargeError{What: "the bundle, unpacked,", Size: MaxFileBytes - left + len(resource.Content), Limit: MaxFileBytes}
		}
		return []byte(resource.Content), nil
	}
	packed, err := base64.StdEncoding.DecodeString(resource.Content)
	if err != nil {
		return nil, fmt.Errorf("decoding base64: %w", err)
	}
	data, err := unpack(packed, left)
	if tooLarge := (*TooLargeError)(nil); errors.As(err, &tooLarge) {
		return nil, &TooLargeError{What: "the bundle, unpacked,", Size: MaxFileBytes - left + tooLarge.Size, Limit: MaxFileBytes}
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking gzip: %w", err)
	}
	return data, nil
}

// CheckName says whether a path may name a file of a bundle: relative, without a way out, printable.
func CheckName(name string) error {
	switch {
	case len(name) > maxFileName:
		return fmt.Errorf("the path is longer than %d bytes", maxFileName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("the path holds characters that cannot be printed")
	case strings.Contains(name, `\`):
		return errors.New("the path holds a backslash: folders are separated by /")
	case path.IsAbs(name):
		return errors.New("the path must be relative to the bundle")
	case path.Clean(name) == ".":
		return errors.New("the path names no file")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return errors.New("the path must not leave the bundle by ..")
		}
	}
	return nil
}
