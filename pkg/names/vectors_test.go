package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func a(n int) string { return strings.Repeat("a", n) }

// digits repeats 1234567890 up to n bytes.
func digits(n int) string { return strings.Repeat("1234567890", n/10+1)[:n] }

func TestSafeConcatKeepsToTheWire(t *testing.T) {
	for _, test := range []struct {
		what  string
		parts []string
		want  string
	}{
		{"nothing", nil, ""},
		{"one empty part", []string{""}, ""},
		{"two parts", []string{"edge", "role"}, "edge-role"},
		{"63 bytes stay", []string{a(63)}, a(63)},
		{"63 bytes in two parts stay", []string{a(31), a(31)}, a(31) + "-" + a(31)},
		{"64 bytes", []string{a(64)}, a(57) + "-ffe05"},
		{"64 bytes and a dash between", []string{a(32), a(32)}, a(32) + "-" + a(24) + "-da5ed"},
		{"a dash at the cut", []string{a(56) + "-" + a(7)}, a(56) + "-768c62"},
		{"two dashes at the cut", []string{a(55) + "--" + a(7)}, a(55) + "-" + "-9e8cfe"},
	} {
		t.Run(test.what, func(t *testing.T) {
			assert.Equal(t, test.want, SafeConcat(test.parts...))
		})
	}
}

func TestKeyHashIsOfTheFirstHundredBytes(t *testing.T) {
	assert.Equal(t, "e3b0c44298fc", KeyHash(""), "the SHA-256 of nothing")
	assert.Equal(t, "ba7816bf8f01", KeyHash("abc"), "the SHA-256 of abc")
	assert.Equal(t, KeyHash(a(100)), KeyHash(a(100)+"b"))
	assert.NotEqual(t, KeyHash(a(99)), KeyHash(a(100)))
	assert.NotEqual(t, KeyHash(a(99)+"b"), KeyHash(a(100)))
	assert.Len(t, KeyHash(strings.Repeat("ü", 80)), 12, "a cut within a character")
}

func TestHexIsOfTheMD5(t *testing.T) {
	assert.Equal(t, "90015", Hex("abc", 5))
	assert.Equal(t, "900150983cd24fb0d6963f7d28e17f72", Hex("abc", 32))
	assert.Equal(t, "", Hex("abc", 0))
}

func TestLimitKeepsToTheWire(t *testing.T) {
	for _, test := range []struct {
		s    string
		n    int
		want string
	}{
		{"1234567", 5, "12345"},
		{"1234567", 6, "123456"},
		{"1234567", 7, "1234567"},
		{"1234567", 8, "1234567"},
		{"12345678", 8, "12345678"},
		{"12345678", 7, "1-25d55"},
		{"123456789", 8, "12-25f9e"},
		{"1-3456789", 8, "1-9b657"},
		{"1234567", 0, ""},
		{"1234567", -1, ""},
		{"", 0, ""},
	} {
		assert.Equal(t, test.want, Limit(test.s, test.n), "Limit(%q, %d)", test.s, test.n)
	}
}

func TestHelmReleaseNameKeepsToTheWire(t *testing.T) {
	for _, test := range []struct{ s, want string }{
		{digits(52) + "a", digits(52) + "a"},
		{digits(50) + "123" + "a", digits(47) + "-fdba4"},
		{digits(63) + "a", digits(47) + "-eb12d"},
		{digits(46) + "-1234567", digits(46) + "-d0bce"},
		{"long-name-test-shortpath-with@char", "long-name-test-shortpath-with-char-031bab5e"},
		{"long-name-test-shortpath-with+char", "long-name-test-shortpath-with-char-21c88393"},
		{"long-name-test-0.App_ ", "long-name-test-0-app-5bf6b3fb"},
		{"long-name-test--App_-_12.factor", "long-name-test-app-12-factor-0efbac37"},
		{"bundle.name.example.com", "bundle-name-example-com-645ef821"},
		{"charts/app", "charts-app"},
		{"-a--b/", "a-b"},
		{"", Hex("", 24)},
		{"/-/", Hex("/-/", 24)},
	} {
		assert.Equal(t, test.want, HelmReleaseName(test.s), "HelmReleaseName(%q)", test.s)
	}
}

func TestContentIDIsTheCutHashOfTheManifest(t *testing.T) {
	// The SHA-256 of {}, without its last three digits.
	assert.Equal(t, "s-44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaf", ContentID([]byte("{}")))
}

func TestFieldHashIsTheSHA224OfTheJSON(t *testing.T) {
	for _, test := range []struct {
		what  string
		field any
		want  string
	}{
		{"no CA is the JSON null", []byte(nil), "a7408a8b23aff882d8b95165eb24c3a6b519468539eb2b3072f529cb"},
		{"nil is the JSON null", nil, "a7408a8b23aff882d8b95165eb24c3a6b519468539eb2b3072f529cb"},
		{"an empty CA is an empty text", []byte{}, "106eab90d1bb9f41a6bc937ccb191f4ff67809fffb93ce4a6e81822d"},
		{"a CA is its base64", []byte("CA"), "92daeba0b87f5b214bc92b74d8b4b1602bb14d44890257dc4ffd636e"},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, err := FieldHash(test.field)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
	_, err := FieldHash(func() {})
	assert.ErrorContains(t, err, "func()")
}

func TestObjectSetHashIsTheOneOfTheApplyEngine(t *testing.T) {
	assert.Equal(t, "da39a3ee5e6b4b0d3255bfef95601890afd80709", ObjectSetHash("", "", "", ""))
	assert.Equal(t, "0d986ca3a5e021f7ffc7e9dfba4b6ed208bd646d", ObjectSetHash("id", "gvk", "name", "ns"))

	// What wrangler v3.8.0 wrote for a set whose owner is ConfigMap fleet-default/edge.
	assert.Equal(t, "e652c27e31ee22e9e97349c55a62e8646a8e3f6b", ObjectSetHash(SetToken, "/v1, Kind=ConfigMap", "edge", "fleet-default"))
}
