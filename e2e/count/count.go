// Package count holds request counts of an API server: what the fault shim saw pass, or what an audit log recorded.
//
// Counts are plain values. A test takes one before and one after, and looks at the difference.
package count

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Key is what requests are told apart by.
type Key struct {
	// User is the authenticated user; only an audit log knows it.
	User string
	// UserAgent is the client's name without its version.
	UserAgent string
	// Verb is the API's verb (get, list, watch, create, …), for other paths the HTTP method in lower case.
	Verb string
	// Group, Resource and Subresource are empty for other paths than those of resources.
	Group       string
	Resource    string
	Subresource string
	// Path is set for other paths than those of resources, such as /readyz.
	Path string
}

// Counts says how many requests there were of each kind.
type Counts map[Key]int

// Sub is the difference to an earlier count of the same source. Kinds without new requests are left out.
func (c Counts) Sub(earlier Counts) Counts {
	out := Counts{}
	for key, n := range c {
		if d := n - earlier[key]; d != 0 {
			out[key] = d
		}
	}
	return out
}

// Total is the number of all requests.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Where keeps the kinds of requests for which all the conditions hold.
func (c Counts) Where(conditions ...func(Key) bool) Counts {
	return c.filter(func(key Key) bool {
		for _, holds := range conditions {
			if !holds(key) {
				return false
			}
		}
		return true
	})
}

// Without drops the kinds of requests for which any of the conditions holds.
func (c Counts) Without(conditions ...func(Key) bool) Counts {
	return c.filter(func(key Key) bool {
		for _, holds := range conditions {
			if holds(key) {
				return false
			}
		}
		return true
	})
}

func (c Counts) filter(keep func(Key) bool) Counts {
	out := Counts{}
	for key, n := range c {
		if keep(key) {
			out[key] = n
		}
	}
	return out
}

// Writes keeps the mutating requests.
func (c Counts) Writes() Counts { return c.Where(Key.Write) }

// Reads keeps get, list and watch of resources.
func (c Counts) Reads() Counts { return c.Where(Key.Read) }

// String lists the counts, most frequent first, for the message of a failed test.
func (c Counts) String() string {
	keys := slices.SortedFunc(maps.Keys(c), func(a, b Key) int {
		if c[a] != c[b] {
			return c[b] - c[a]
		}
		return strings.Compare(a.String(), b.String())
	})
	var out strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&out, "%6d  %s\n", c[key], key)
	}
	return out.String()
}

// String is "verb resource.group/subresource by user-agent (user)".
func (k Key) String() string {
	what := k.Path
	if k.Resource != "" {
		what = k.Resource
		if k.Group != "" {
			what += "." + k.Group
		}
		if k.Subresource != "" {
			what += "/" + k.Subresource
		}
	}
	out := fmt.Sprintf("%s %s by %s", k.Verb, what, k.UserAgent)
	if k.User != "" {
		out += " (" + k.User + ")"
	}
	return out
}
