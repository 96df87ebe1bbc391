package bundledeployment

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values of a Secret are read whatever they are: they are an object, none, or an error that repeats nothing of them.
func FuzzReadValues(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,2.5,"x",null]}}`, `null`, ``, `[]`, `"text"`, `{"a":`, `{"a":1e999}`, strings.Repeat(`{"a":`, 100), "\xff\xfe"} {
		f.Add([]byte(seed), []byte(seed), true)
		f.Add([]byte(seed), []byte(nil), false)
	}
	f.Fuzz(func(t *testing.T, values, staged []byte, matches bool) {
		sum := sha256.Sum256(append(append([]byte(nil), values...), staged...))
		hash := hex.EncodeToString(sum[:])
		if !matches {
			hash = "0" + hash
		}
		read, err := readValues(map[string][]byte{keyValues: values, keyStagedValues: staged}, hash)
		if !matches {
			assert.ErrorContains(t, err, "hash mismatch")
		}
		if err != nil {
			assert.Nil(t, read)
			if len(values) > 40 {
				assert.NotContains(t, err.Error(), string(values))
			}
		}
		if len(values) == 0 && matches {
			assert.NoError(t, err)
			assert.Nil(t, read)
		}
	})
}
