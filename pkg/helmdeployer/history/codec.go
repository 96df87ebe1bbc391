package history

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

const (
	// maxRecord is what an API server takes for the data of a Secret.
	maxRecord = 1 << 20
	// maxUnpacked bounds what a record may become when it is unpacked.
	maxUnpacked = 100 << 20
)

var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// TooLargeError says that a release does not fit into its record.
type TooLargeError struct {
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record of the release takes %d bytes, of at most %d: split the bundle", e.Size, e.Limit)
}

// encode packs a release as Helm does. The templates and files of its chart are left out: nothing that is done with a
// record needs them, and they would be most of it.
func encode(r *release.Release) ([]byte, error) {
	slim := *r
	if r.Chart != nil {
		slim.Chart = &chart.Chart{Metadata: r.Chart.Metadata, Lock: r.Chart.Lock, Values: r.Chart.Values}
	}
	data, err := json.Marshal(&slim)
	if err != nil {
		return nil, fmt.Errorf("encoding release %s: %w", r.Name, err)
	}
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	encoded := make([]byte, base64.StdEncoding.EncodedLen(packed.Len()))
	base64.StdEncoding.Encode(encoded, packed.Bytes())
	if len(encoded) > maxRecord {
		return nil, &TooLargeError{Size: len(encoded), Limit: maxRecord}
	}
	return encoded, nil
}

// Decode unpacks the record of a release, or as much of it as into has fields for.
func Decode(record []byte, into any) error {
	data, err := unpack(record)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decoding the record of a release: %w", err)
	}
	return nil
}

func unpack(record []byte) ([]byte, error) {
	packed := make([]byte, base64.StdEncoding.DecodedLen(len(record)))
	n, err := base64.StdEncoding.Decode(packed, record)
	if err != nil {
		return nil, fmt.Errorf("decoding the record of a release: %w", err)
	}
	packed = packed[:n]
	// The first releases of Helm did not compress.
	if !bytes.HasPrefix(packed, gzipMagic) {
		return packed, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking the record of a release: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking the record of a release: %w", err)
	}
	if len(data) > maxUnpacked {
		return nil, fmt.Errorf("unpacking the record of a release: it is larger than %d bytes", maxUnpacked)
	}
	return data, nil
}

func decodeRelease(record []byte) (*release.Release, error) {
	r := &release.Release{}
	if err := Decode(record, r); err != nil {
		return nil, err
	}
	if r.Name == "" || r.Info == nil {
		return nil, errors.New("the record of a release has no name or no state")
	}
	return r, nil
}
