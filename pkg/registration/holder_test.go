package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	testFingerprint = "0123456789abcdef0123456789abcdef"
	testDigest      = "fedcba9876543210"
)

func TestHolderMakesTheRoundTrip(t *testing.T) {
	for _, want := range []Holder{
		{Instance: "fleet-agent-0", Fingerprint: testFingerprint, Digest: testDigest},
		{Instance: "fleet-agent-79f9-x", Digest: testDigest},
		{Instance: "host.example.com_12_AB", Fingerprint: testFingerprint, Digest: testDigest},
		{Instance: strings.Repeat("a", maxInstance), Digest: testDigest},
	} {
		got, ok := ParseHolder(want.String())
		require.True(t, ok, want.String())
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "fleet-agent-0/-/fedcba9876543210", Holder{Instance: "fleet-agent-0", Digest: testDigest}.String())
}

func TestHolderBendsAnInstanceIntoItsForm(t *testing.T) {
	for instance, want := range map[string]string{
		"":                                 "_",
		"a/b":                              "a_b",
		"größe":                            "gr__e",
		"a\x1b[31m\n":                      "a__31m_",
		"\xff":                             "_",
		strings.Repeat("a", maxInstance+9): strings.Repeat("a", maxInstance),
	} {
		got, ok := ParseHolder(Holder{Instance: instance, Digest: testDigest}.String())
		require.True(t, ok, "%q", instance)
		assert.Equal(t, want, got.Instance, "%q", instance)
	}
}

// Attack 15: what a Lease says is another cluster's text.
func TestHostileHoldersAreNotRead(t *testing.T) {
	tail := "/" + testFingerprint + "/" + testDigest
	for _, s := range []string{
		"", "/", "//", "///", "agent", "agent/-", tail, "a" + tail + "/", "a/b" + tail,
		"a//" + testDigest,
		"a/" + testFingerprint + "/",
		"a/-/" + testDigest + "0",
		"a/-/" + testDigest[1:],
		"a/-/" + strings.ToUpper(testDigest),
		"a/-/fedcba987654321g",
		"a/-/fedc ba98765432\n",
		"a/" + testFingerprint[1:] + "/" + testDigest,
		"a/" + testFingerprint + "0/" + testDigest,
		"a/" + strings.ToUpper(testFingerprint) + "/" + testDigest,
		"a/--/" + testDigest,
		"a b" + tail, "a\n" + tail, "a\x00" + tail, "a\x1b[2J" + tail, "ä" + tail, "\xff" + tail, `<script>` + tail, "a%s" + tail,
		strings.Repeat("a", maxInstance+1) + tail,
		strings.Repeat("a", 1<<20),
		strings.Repeat("/", 1<<20),
	} {
		got, ok := ParseHolder(s)
		assert.False(t, ok, "%.80q", s)
		assert.Zero(t, got, "%.80q", s)
	}
}

func FuzzParseHolder(f *testing.F) {
	f.Add("fleet-agent-0/-/fedcba9876543210", "fleet-agent-0")
	f.Add("a/0123456789abcdef0123456789abcdef/fedcba9876543210", "a/b")
	f.Add("//", "\xff")
	f.Add("a/-/FEDCBA9876543210", strings.Repeat("é", 200))
	f.Add("a\x1b[2J/-/fedcba9876543210", "../../x")
	f.Add(strings.Repeat("a", maxInstance+1)+"/-/fedcba9876543210", "\u202e\u2028")
	f.Add("a/-/fedcba9876543210/", "-/-/-")
	f.Fuzz(func(t *testing.T, s, instance string) {
		if h, ok := ParseHolder(s); ok {
			require.Equal(t, s, h.String(), "what is read is written alike")
			require.LessOrEqual(t, len(s), maxInstance+1+fingerprintLength+1+digestLength)
			require.True(t, isPlain(s), "%q", s)
		} else {
			require.Zero(t, h)
		}
		made := Holder{Instance: instance, Fingerprint: testFingerprint, Digest: testDigest}
		h, ok := ParseHolder(made.String())
		require.True(t, ok, "%q", made.String())
		require.Equal(t, testFingerprint, h.Fingerprint)
		require.Equal(t, testDigest, h.Digest)
		require.LessOrEqual(t, len(made.String()), 253)
	})
}
