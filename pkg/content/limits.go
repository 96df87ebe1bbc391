package content

import (
	"fmt"
	"strconv"
)

// Limits of what is stored and of what is unpacked.
const (
	// MaxObject is how large a Content may be when it is written: etcd takes a request of 1.5 MiB, of which the envelope
	// and the API server's own bookkeeping need a little.
	MaxObject = 3<<19 - 4<<10
	// MaxUnpacked is how large the JSON of a manifest may be once it is unpacked. It came out of one Bundle.
	MaxUnpacked = 32 << 20
	// MaxFiles and MaxFileBytes bound the files of one bundle, decoded, all together.
	MaxFiles     = 20_000
	MaxFileBytes = 64 << 20
	// maxFileName is how long the path of a file may be.
	maxFileName = 1024
)

// TooLargeError says that something is larger than it may be. Trying again does not help.
type TooLargeError struct {
	// What is too large, for a sentence.
	What string
	// Size is how large it is; where unpacking was stopped, how large it is at least.
	Size int
	// Limit is how large it may be.
	Limit int
	// Remedy is what can be done about it, where that is known.
	Remedy string
}

// Error names both sizes and the way out.
func (e *TooLargeError) Error() string {
	text := fmt.Sprintf("%s is too large: %d bytes, of at most %d", e.What, e.Size, e.Limit)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// printable quotes a name that someone else chose, and cuts it.
func printable(s string) string {
	const longest = 80
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "…"
	}
	return strconv.Quote(s)
}
