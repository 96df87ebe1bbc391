package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/semaphore"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

const (
	// maxRecord is what an API server takes for the data of a Secret.
	maxRecord = 1 << 20
	// maxUnpacked bounds what a record may become when it is unpacked: thirty times and more what it is packed.
	maxUnpacked = 32 << 20
	// maxValues bounds how many values a record has: the smallest take two hundred times their size in memory. A record of
	// Helm has its objects in one text, and few values besides those of its chart.
	maxValues = 200_000
	// maxHooks bounds its hooks, each of which is looked at.
	maxHooks = 10_000
	// maxHistory bounds what the records of one release may become together, and what is unpacked at the same time.
	maxHistory = 2 * maxUnpacked
)

var gzipMagic = []byte{0x1f, 0x8b, 0x08}

// gzipSmallest is the size of a header and of an end, whose last four bytes are the size of what is packed.
const gzipSmallest = 18

// unpacking is the memory in which records are unpacked, whoever asks for it. Records may be anybody's work: many that are
// made to be large together take no more than one or two of them. Nothing else is waited for while a part of it is held.
var unpacking = semaphore.NewWeighted(maxHistory)

// TooLargeError says that a release does not fit into its record.
type TooLargeError struct {
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the record of the release takes %d bytes, of at most %d: split the bundle", e.Size, e.Limit)
}

// TooManyError says that a release has too many of something for its record.
type TooManyError struct {
	What         string
	Count, Limit int
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the record of the release has %d %s, of at most %d: split the bundle", e.Count, e.What, e.Limit)
}

// values is how many values a document has, and a few more: what stands after the beginning of a list or an object, or after a
// comma. It takes no memory, other than to decode the document.
func values(document []byte) (count int) {
	inText, escaped := false, false
	for _, c := range document {
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case !inText && (c == '{' || c == '[' || c == ','):
			count++
		}
	}
	return count
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
	if len(data) > maxUnpacked { // else it could not be read again
		return nil, &TooLargeError{Size: len(data), Limit: maxUnpacked}
	}
	if n := values(data); n > maxValues {
		return nil, &TooManyError{What: "values", Count: n, Limit: maxValues}
	}
	if n := len(r.Hooks); n > maxHooks {
		return nil, &TooManyError{What: "hooks", Count: n, Limit: maxHooks}
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
	_, err := decode(record, into)
	return err
}

// decode says besides how large the record is when it is unpacked.
func decode(record []byte, into any) (size int, err error) {
	packed, size, err := open(record)
	if err != nil {
		return 0, err
	}
	if err := unpacking.Acquire(context.Background(), int64(size)); err != nil {
		return 0, err // of a context that ends, which this one does not
	}
	defer unpacking.Release(int64(size))
	data, err := unpack(packed, size)
	if err != nil {
		return 0, err
	}
	if n := values(data); n > maxValues {
		return 0, &TooManyError{What: "values", Count: n, Limit: maxValues}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return 0, fmt.Errorf("decoding the record of a release: %w", err)
	}
	return size, nil
}

// open takes the outer wrapping off a record, and says how large it says that it is when it is unpacked.
func open(record []byte) (packed []byte, size int, err error) {
	packed = make([]byte, base64.StdEncoding.DecodedLen(len(record)))
	n, err := base64.StdEncoding.Decode(packed, record)
	if err != nil {
		return nil, 0, fmt.Errorf("decoding the record of a release: %w", err)
	}
	packed, size = packed[:n], n
	if bytes.HasPrefix(packed, gzipMagic) {
		if n < gzipSmallest {
			return nil, 0, errors.New("unpacking the record of a release: it is cut off")
		}
		size = int(binary.LittleEndian.Uint32(packed[n-4:]))
	}
	if size > maxUnpacked {
		return nil, 0, fmt.Errorf("unpacking the record of a release: it is larger than %d bytes", maxUnpacked)
	}
	return packed, size, nil
}

// unpack believes no record about its size.
func unpack(packed []byte, size int) ([]byte, error) {
	// The first releases of Helm did not compress.
	if !bytes.HasPrefix(packed, gzipMagic) {
		return packed, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking the record of a release: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(reader, int64(size)+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking the record of a release: %w", err)
	}
	if len(data) > size {
		return nil, fmt.Errorf("unpacking the record of a release: it is larger than the %d bytes that it says", size)
	}
	return data, nil
}

// decodeRelease says besides how large the record is when it is unpacked.
func decodeRelease(record []byte) (*release.Release, int, error) {
	r := &release.Release{}
	size, err := decode(record, r)
	if err != nil {
		return nil, 0, err
	}
	if r.Name == "" || r.Info == nil {
		return nil, 0, errors.New("the record of a release has no name or no state")
	}
	if len(r.Hooks) > maxHooks {
		return nil, 0, &TooManyError{What: "hooks", Count: len(r.Hooks), Limit: maxHooks}
	}
	if slices.Contains(r.Hooks, nil) { // which Helm takes for one
		return nil, 0, errors.New("the record of a release has a hook that is null")
	}
	return r, size, nil
}
