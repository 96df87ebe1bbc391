package registration

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testIdentity(t *testing.T) Identity {
	t.Helper()
	id, err := NewIdentity()
	require.NoError(t, err)
	return id
}

func testBinding(id Identity) Binding {
	return Binding{
		HubUID: "hub", Workspace: "fleet-default", Request: "request-x", ClientID: "client", ClientRandom: "random",
		ClusterUID: "cluster", PublicKey: id.PublicKey(), ImportAccountUID: "account",
	}
}

func TestSealedTokenOpensForItsKeyAndBinding(t *testing.T) {
	id := testIdentity(t)
	sealed, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	assert.NotContains(t, sealed, testToken)
	token, err := id.Open(testBinding(id), sealed)
	require.NoError(t, err)
	assert.Equal(t, testToken, token)

	again, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	assert.NotEqual(t, sealed, again, "no two seals are alike")
}

// Attacks 4 and 9: a credential that was sealed for another request, cluster, key or hub opens for nobody else. Each part of
// the binding is changed by itself, in the three ways a text can differ.
func TestEveryPartOfTheBindingCounts(t *testing.T) {
	id, other := testIdentity(t), testIdentity(t)
	sealed, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	parts := reflect.TypeFor[Binding]()
	for i := range parts.NumField() {
		t.Run(parts.Field(i).Name, func(t *testing.T) {
			value := reflect.ValueOf(testBinding(id)).Field(i).String()
			for _, changed := range []string{"", value + "x", value[1:], other.PublicKey()} {
				b := testBinding(id)
				reflect.ValueOf(&b).Elem().Field(i).SetString(changed)
				_, err := id.Open(b, sealed)
				assert.ErrorIs(t, err, ErrNotForUs, "%q in place of %q", changed, value)
			}
		})
	}
}

// What one part loses another may not win: the border between parts is bound too.
func TestPartsOfTheBindingDoNotRunTogether(t *testing.T) {
	id := testIdentity(t)
	b := testBinding(id)
	sealed, err := Seal(b, testToken)
	require.NoError(t, err)
	b.Request, b.ClientID = b.Request+b.ClientID[:1], b.ClientID[1:]
	_, err = id.Open(b, sealed)
	require.ErrorIs(t, err, ErrNotForUs)

	b = testBinding(id)
	b.ClientID, b.ClientRandom = b.ClientRandom, b.ClientID
	_, err = id.Open(b, sealed)
	require.ErrorIs(t, err, ErrNotForUs)
}

func TestAnotherKeyOpensNothing(t *testing.T) {
	id, other := testIdentity(t), testIdentity(t)
	sealed, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	_, err = other.Open(testBinding(id), sealed)
	assert.ErrorIs(t, err, ErrNotForUs)
	_, err = other.Open(testBinding(other), sealed)
	assert.ErrorIs(t, err, ErrNotForUs)
}

func TestChangedCiphertextsDoNotOpen(t *testing.T) {
	id := testIdentity(t)
	sealed, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	raw, err := base64.StdEncoding.DecodeString(sealed)
	require.NoError(t, err)
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		_, err := id.Open(testBinding(id), base64.StdEncoding.EncodeToString(changed))
		require.ErrorIs(t, err, ErrNotForUs, "byte %d", i)
	}
	for _, length := range []int{0, 1, keyLength - 1, keyLength, keyLength + 1, len(raw) - 1} {
		_, err := id.Open(testBinding(id), base64.StdEncoding.EncodeToString(raw[:length]))
		require.ErrorIs(t, err, ErrNotForUs, "%d bytes", length)
	}
	_, err = id.Open(testBinding(id), "***")
	assert.ErrorContains(t, err, KeySealedToken)
	_, err = id.Open(testBinding(id), strings.Repeat("A", maxSealed+1))
	assert.ErrorContains(t, err, KeySealedToken)
	_, err = Identity{}.Open(testBinding(id), sealed)
	assert.ErrorContains(t, err, "own key")
}

func TestIdentityIsRestoredFromItsPrivateKey(t *testing.T) {
	id := testIdentity(t)
	restored, err := IdentityFrom(id.Private())
	require.NoError(t, err)
	assert.Equal(t, id.PublicKey(), restored.PublicKey())
	assert.Equal(t, id.Fingerprint(), restored.Fingerprint())
	sealed, err := Seal(testBinding(id), testToken)
	require.NoError(t, err)
	token, err := restored.Open(testBinding(id), sealed)
	require.NoError(t, err)
	assert.Equal(t, testToken, token)

	for _, private := range [][]byte{nil, {1}, bytes.Repeat([]byte{1}, 31), bytes.Repeat([]byte{1}, 33)} {
		_, err := IdentityFrom(private)
		assert.ErrorContains(t, err, "private key", "%d bytes", len(private))
	}
}

func TestFingerprintNamesTheKey(t *testing.T) {
	id := testIdentity(t)
	fingerprint, err := Fingerprint(id.PublicKey())
	require.NoError(t, err)
	assert.Equal(t, id.Fingerprint(), fingerprint)
	assert.True(t, isHex(fingerprint, fingerprintLength))
	assert.NotEqual(t, fingerprint, testIdentity(t).Fingerprint())
	// The SHA-256 of the base point of the curve.
	base := make([]byte, keyLength)
	base[0] = 9
	fingerprint, err = Fingerprint(base64.StdEncoding.EncodeToString(base))
	require.NoError(t, err)
	sum := sha256.Sum256(base)
	assert.Equal(t, hex.EncodeToString(sum[:])[:fingerprintLength], fingerprint)
}

// Whatever is sealed to one of these could be opened by anybody, so the library refuses; a request with one is refused
// before anything is made for it.
func TestPointsToWhichNothingCanBeSealedAreNoKeys(t *testing.T) {
	one := make([]byte, keyLength)
	one[0] = 1
	for name, raw := range map[string][]byte{"zero": make([]byte, keyLength), "one": one} {
		_, err := Fingerprint(base64.StdEncoding.EncodeToString(raw))
		assert.ErrorContains(t, err, "nothing can be sealed", name)
	}
}

// badKeys are no public keys: of another length, another alphabet, or another spelling of a good one.
func badKeys(t *testing.T) map[string]string {
	good := testIdentity(t).PublicKey()
	// The last character before the padding has two bits that mean nothing.
	bits := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	last := strings.IndexByte(bits, good[42])
	return map[string]string{
		"empty":           "",
		"no base64":       "***",
		"31 bytes":        base64.StdEncoding.EncodeToString(make([]byte, 31)),
		"33 bytes":        base64.StdEncoding.EncodeToString(make([]byte, 33)),
		"without padding": strings.TrimRight(good, "="),
		"URL alphabet":    strings.Repeat("-", 43) + "=",
		"a line break":    good[:20] + "\n" + good[20:],
		"a space after":   good + " ",
		"unused bits":     good[:42] + string(bits[last|1]) + "=",
		"a megabyte":      strings.Repeat("A", 1<<20),
		"hexadecimal":     strings.Repeat("ab", 32),
		"no UTF-8":        "\xff\xfe",
		"twice":           good + good,
		"a PEM around it": "-----BEGIN PUBLIC KEY-----\n" + good + "\n-----END PUBLIC KEY-----",
	}
}

func TestBadPublicKeysAreRefused(t *testing.T) {
	for what, key := range badKeys(t) {
		_, err := Fingerprint(key)
		require.ErrorContains(t, err, "identity.publicKey", what)
		_, err = Seal(Binding{PublicKey: key}, testToken)
		require.ErrorContains(t, err, "identity.publicKey", what)
		assert.Less(t, len(err.Error()), 300, what)
	}
}

// A point of small order would give the same secret to everyone.
func TestWeakPublicKeysAreNotSealedTo(t *testing.T) {
	one := make([]byte, keyLength)
	one[0] = 1
	for _, point := range [][]byte{make([]byte, keyLength), one} {
		_, err := Seal(Binding{PublicKey: base64.StdEncoding.EncodeToString(point)}, testToken)
		assert.ErrorContains(t, err, "identity.publicKey")
	}
}

// An agent and a hub of other versions, and a library that is upgraded, still understand each other.
func TestWhatWasSealedOnceStillOpens(t *testing.T) {
	id, err := IdentityFrom([]byte(strings.Repeat("k", keyLength)))
	require.NoError(t, err)
	token, err := id.Open(testBinding(id), sealedOnce)
	require.NoError(t, err)
	assert.Equal(t, testToken, token)
}
