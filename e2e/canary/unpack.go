package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"regexp"
)

// largest bounds what is unpacked.
const largest = 64 << 20

// gzipped is how what gzip wrote begins.
var gzipped = []byte{0x1f, 0x8b, 0x08}

// encoded is a run of base64 that is long enough to hold something.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/]{32,}={0,2}`)

// packed is content that was found in another.
type packed struct {
	way     string
	content []byte
}

// unpack finds what is packed in a content: streams of gzip, and base64 of what is packed once more. What base64 holds as
// it is, is a form of a value, and needs no unpacking.
func unpack(content []byte) (out []packed) {
	for at := 0; ; {
		next := bytes.Index(content[at:], gzipped)
		if next < 0 {
			break
		}
		at += next
		if inner := gunzip(content[at:]); len(inner) > 0 {
			out = append(out, packed{way: "compressed", content: inner})
		}
		at += len(gzipped)
	}
	for _, run := range encoded.FindAll(content, -1) {
		inner := decode(run)
		if bytes.HasPrefix(inner, gzipped) || encoded.Match(inner) {
			out = append(out, packed{way: "encoded", content: inner})
		}
	}
	return out
}

// gunzip is what a stream holds as far as it can be read.
func gunzip(stream []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil
	}
	reader.Multistream(false)
	content, _ := io.ReadAll(io.LimitReader(reader, largest)) // a cut stream still shows its beginning
	return content
}

// decode reads base64 as far as it goes: a run may touch other letters.
func decode(run []byte) []byte {
	run = bytes.TrimRight(run, "=")
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	content, err := base64.RawStdEncoding.DecodeString(string(run))
	if err != nil { // bits that are left over at the end
		content, _ = base64.RawStdEncoding.DecodeString(string(run[:len(run)/4*4]))
	}
	return content
}
