package canary

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// least is how long a value is at least: a shorter one would be found by chance.
const least = 12

// deepest is how often something may be packed in something else.
const deepest = 4

// Value is a secret, and what it is called in a finding.
type Value struct {
	Name string
	Data []byte
}

// Finding is a value where it must not be.
type Finding struct {
	Value, Place, Form string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s, %s", f.Place, f.Value, f.Form) }

// Searcher knows what to look for.
type Searcher struct {
	forms []form
}

// form is one way in which a value may be written.
type form struct {
	value, name string
	data        []byte
}

// New prepares a search.
func New(values ...Value) (*Searcher, error) {
	var problems []error
	s := &Searcher{}
	for _, v := range values {
		if len(v.Data) < least {
			problems = append(problems, fmt.Errorf("%s has %d bytes: %d are needed, or it is found by chance", v.Name, len(v.Data), least))
			continue
		}
		s.forms = append(s.forms, formsOf(v)...)
	}
	return s, errors.Join(problems...)
}

// formsOf are the ways in which a value may be written.
func formsOf(v Value) []form {
	ways := []form{{name: "as it is", data: v.Data}, {name: "in hex", data: []byte(hex.EncodeToString(v.Data))}}
	for shift := range 3 {
		for name, encoding := range map[string]*base64.Encoding{"in base64": base64.RawStdEncoding, "in base64 for URLs": base64.RawURLEncoding} {
			ways = append(ways, form{name: name, data: inside(encoding, v.Data, shift)})
		}
	}
	if quoted, err := json.Marshal(string(v.Data)); err == nil {
		ways = append(ways, form{name: "in JSON", data: quoted[1 : len(quoted)-1]})
	}
	ways = append(ways, form{name: "in a URL", data: []byte(url.QueryEscape(string(v.Data)))})
	var out []form
	for _, way := range ways {
		way.value = v.Name
		known := false
		for _, other := range out {
			known = known || bytes.Equal(other.data, way.data)
		}
		if !known {
			out = append(out, way)
		}
	}
	return out
}

// inside is what of a base64 text depends on the data alone, if shift bytes stand before it.
func inside(encoding *base64.Encoding, data []byte, shift int) []byte {
	text := encoding.EncodeToString(append(make([]byte, shift), data...))
	from := []int{0, 2, 3}[shift]
	return []byte(text[from : (shift+len(data))*8/6])
}

// In looks into the content of a place, and into what is packed in it.
func (s *Searcher) In(place string, content []byte) []Finding {
	found := map[Finding]bool{}
	var out []Finding
	s.search(content, 0, func(f form, packed string) {
		finding := Finding{Value: f.value, Place: place, Form: f.name + packed}
		if !found[finding] {
			found[finding] = true
			out = append(out, finding)
		}
	}, "")
	return out
}

func (s *Searcher) search(content []byte, depth int, tell func(form, string), packed string) {
	for _, f := range s.forms {
		if bytes.Contains(content, f.data) {
			tell(f, packed)
		}
	}
	if depth == deepest {
		return
	}
	for _, inner := range unpack(content) {
		s.search(inner.content, depth+1, tell, packed+", "+inner.way)
	}
}
