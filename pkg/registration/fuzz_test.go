package registration

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/pkg/names"
)

// nastyJSON are annotations as nobody writes them.
var nastyJSON = []string{
	"", "null", "[]", "{}", "{", `"text"`, "0", "\xff", `{"time":"9999-12-31T23:59:59.999999999-23:59"}`, `{"time":"x"}`, `{"time":0}`,
	`{"fingerprint":"a","fingerprint":"b"}`, `{"FINGERPRINT":"a"}`, `{"fingerprint":"\u001b[2J"}`, `{"fingerprint":"\ud800"}`,
	`{"attempts":9223372036854775808}`, `{"attempts":-1,"redeploy":-9223372036854775808}`, `{"attempts":1e2}`, `{"previous":[]}`,
	`{"previous":[null,"\u0000",""]}`, `{"previous":{"a":"b"}}`, strings.Repeat("[", 2000), `{"namespace":"..","tokenUID":"<script>"}`,
}

// A Cluster's pin is the hub's, but whoever may edit Clusters may edit it. In doubt it binds to nobody.
func FuzzPin(f *testing.F) {
	for _, seed := range nastyJSON {
		f.Add(seed)
	}
	f.Add(Pin{Fingerprint: testFingerprint, ClusterUID: "uid", ApprovedBy: "ann", Request: "request-x"}.Annotation())
	f.Fuzz(func(t *testing.T, value string) {
		pin, err := PinOf(map[string]string{names.IdentityAnnotation: value})
		if err != nil {
			require.Nil(t, pin)
			checkError(t, err, names.IdentityAnnotation, value)
			return
		}
		require.NotEmpty(t, pin.Fingerprint)
		require.True(t, isPlain(pin.Fingerprint+pin.ClusterUID))
		require.LessOrEqual(t, len(pin.Fingerprint), maxFingerprint)
		require.LessOrEqual(t, len(pin.ClusterUID), maxClientID)
		again, err := PinOf(map[string]string{names.IdentityAnnotation: pin.Annotation()})
		require.NoError(t, err)
		require.Equal(t, pin, again)
	})
}

// The record of an import decides whether it is made again: what is read from it is what is written of it.
func FuzzImport(f *testing.F) {
	for _, seed := range nastyJSON {
		f.Add(seed)
	}
	f.Add(`{"time":"0000-10-01T0:00:00+24:00"}`)
	f.Add(`{"time":"0000-01-01T00:00:00+24:00"}`)
	f.Add(Import{TokenUID: "t", Previous: []string{"old"}, Time: time.Unix(1e9, 5).UTC(), Attempts: 3}.Annotation())
	f.Fuzz(func(t *testing.T, value string) {
		record, ok := ImportOf(map[string]string{names.ImportAnnotation: value})
		if !ok {
			require.Zero(t, record)
			return
		}
		require.GreaterOrEqual(t, record.Attempts, 0)
		written := record.Annotation()
		require.NotEmpty(t, written)
		again, ok := ImportOf(map[string]string{names.ImportAnnotation: written})
		require.True(t, ok)
		require.Equal(t, written, again.Annotation(), "to write it once more changes nothing")
		require.True(t, record.Time.Equal(again.Time))
		require.False(t, again.Holds("", again.Namespace), "an import of no known cluster holds nothing")
	})
}

// A credential's record lies in four annotations; each may be missing or wrong by itself.
func FuzzRecord(f *testing.F) {
	f.Add("fedcba9876543210", "uid", "2026-01-01T00:00:00Z", "2026-04-01T00:00:00Z")
	f.Add("", "", "", "")
	f.Add("d", "u", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59")
	f.Add("d", "u", "2026-01-01T00:00:00.999999999+00:01", "2026-01-01t00:00:00z")
	f.Add("\xff", "\n", "2026-02-30T00:00:00Z", "2026-01-01 00:00:00Z")
	f.Fuzz(func(t *testing.T, digest, account, issued, expires string) {
		record, ok := RecordOf(map[string]string{
			names.CredentialDigestAnnotation: digest, names.CredentialAccountAnnotation: account,
			names.CredentialIssuedAnnotation: issued, names.CredentialExpiresAnnotation: expires,
		})
		if !ok {
			return
		}
		for _, when := range []time.Time{record.Issued.Time, record.Expires.Time} {
			_, err := when.MarshalJSON()
			require.NoError(t, err, "a time can be stored")
		}
		annotations := map[string]string{}
		Annotate(annotations, record)
		again, ok := RecordOf(annotations)
		require.True(t, ok)
		require.Equal(t, record, again)
		once := Remember(nil, record)
		require.Equal(t, once, Remember(once, again), "it is remembered once")
	})
}

// What people and agents choose is shown in conditions, logs and terminals.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", " a ", "a\x1b[2Jb", "\u202eevil", "\xff\xfe\xfd", "a\u0301\u0301\u0301", "\ufffd", "\u2028\u2029\u0085", "😀😀", "\x00\x7f\u009b31m"} {
		f.Add(seed, uint8(3))
		f.Add(seed, uint8(200))
	}
	f.Fuzz(func(t *testing.T, text string, limit uint8) {
		got := Printable(text, int(limit))
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, utf8.RuneCountInString(got), int(limit))
		for _, r := range got {
			require.True(t, unicode.IsGraphic(r), "%q in %q", r, got)
		}
		require.Equal(t, got, Printable(got, int(limit)), "once is enough")
		require.LessOrEqual(t, utf8.RuneCountInString(AgentText(text)), MaxAgentText)
		require.True(t, strings.HasPrefix(text, AgentText(text)))
	})
}

// sealedOnce is testToken, sealed once to the key of 32 k and testBinding: what was sealed has to open for ever.
const sealedOnce = "UtRkxrnShiWEBb3ao9lMW3PmJygFroOPTMGJJtNK2jQXjAkK9FLHrAIFlRn1b9+niDuArE/tEWgch9tdjJHQa1z65V99ecJDZHyCvgJYgQ1odyv3/A=="

// A sealed credential comes over a connection that may lead to anybody.
func FuzzOpen(f *testing.F) {
	private := []byte(strings.Repeat("k", keyLength))
	id, err := IdentityFrom(private)
	require.NoError(f, err)
	binding := testBinding(id)
	f.Add(sealedOnce, private)
	f.Add(sealedOnce[:len(sealedOnce)-4], private)
	f.Add(sealedOnce+"\n", private)
	f.Add("", []byte{})
	f.Add("====", []byte("short"))
	f.Add(strings.Repeat("A", 4*keyLength), make([]byte, keyLength))
	f.Add(strings.Repeat("A", maxSealed+1), private)
	ciphertext, err := base64.StdEncoding.DecodeString(sealedOnce)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, sealed string, key []byte) {
		if other, err := IdentityFrom(key); err == nil {
			require.Len(t, other.Fingerprint(), fingerprintLength)
			fingerprint, err := Fingerprint(other.PublicKey())
			require.NoError(t, err, "what a key pair has for a public key is one")
			require.Equal(t, other.Fingerprint(), fingerprint)
		} else {
			require.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString(private))
		}
		token, err := id.Open(binding, sealed)
		if err != nil {
			require.Empty(t, token)
			require.Less(t, len(err.Error()), 300)
			return
		}
		raw, err := base64.StdEncoding.DecodeString(sealed)
		require.NoError(t, err)
		require.Equal(t, ciphertext, raw, "nothing opens but what was sealed")
		require.Equal(t, testToken, token)
	})
}
