package canary

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secret = `pa55 "word"/of+the=canary`

func compressed(t *testing.T, content string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.String()
}

func searcher(t *testing.T) *Searcher {
	t.Helper()
	s, err := New(Value{Name: "password", Data: []byte(secret)})
	require.NoError(t, err)
	return s
}

// Whatever hides a value that was planted, it is found.
func TestAPlantedValueIsFound(t *testing.T) {
	quoted, err := json.Marshal(map[string]string{"key": secret})
	require.NoError(t, err)
	std, forURLs := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	for name, content := range map[string]string{
		"a text":                        "before " + secret + " after",
		"JSON":                          string(quoted),
		"a URL":                         "http://me:" + url.QueryEscape(secret) + "@proxy",
		"hex":                           "x" + hex.EncodeToString([]byte(secret)),
		"base64":                        std([]byte(secret)),
		"base64 behind one byte":        std([]byte("x" + secret + "yz")),
		"base64 behind two bytes":       std([]byte("xy" + secret)),
		"base64 for URLs":               forURLs([]byte("xyz" + secret + "x")),
		"gzip":                          "k8s\x00" + compressed(t, secret),
		"gzip in base64":                `{"content":"` + std([]byte(compressed(t, "{"+secret+"}"))) + `"}`,
		"gzip in base64 in base64":      std([]byte(std([]byte(compressed(t, secret))))),
		"base64 in gzip":                compressed(t, std([]byte(secret))),
		"gzip in gzip":                  compressed(t, "x"+compressed(t, secret)),
		"a record of Helm, as etcd has": "data\x12" + std([]byte(compressed(t, `{"config":{"password":`+string(quoted)+`}}`))),
	} {
		findings := searcher(t).In("there", []byte(content))
		require.NotEmpty(t, findings, name)
		for _, f := range findings {
			assert.Equal(t, "password", f.Value)
			assert.Equal(t, "there", f.Place)
			assert.NotContains(t, f.String(), secret, "a finding does not spread what it found")
		}
	}
}

func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	for _, content := range []string{
		"", "pa55", "\x1f\x8b\x08 no gzip", compressed(t, "nothing"), strings.Repeat("QUJD", 50), strings.Repeat("QUJD", 50) + "Q",
		compressed(t, secret)[:20], base64.StdEncoding.EncodeToString([]byte(strings.ToUpper(secret))),
	} {
		assert.Empty(t, searcher(t).In("there", []byte(content)), "%q", content)
	}
}

func TestValuesThatAreFoundByChanceAreRefused(t *testing.T) {
	_, err := New(Value{Name: "short", Data: []byte("abc")})
	require.ErrorContains(t, err, "short has 3 bytes")
	_, err = New(Value{Name: "empty"})
	require.Error(t, err)
}

// A token's middle is no secret and repeats in others; each value is found by itself.
func TestEachValueIsToldByItsName(t *testing.T) {
	s, err := New(Value{Name: "one", Data: []byte("first-of-two-secrets")}, Value{Name: "two", Data: []byte("other-of-two-secrets")})
	require.NoError(t, err)
	assert.Equal(t, []Finding{{Value: "two", Place: "log", Form: "as it is"}}, s.In("log", []byte("x other-of-two-secrets")))
}
