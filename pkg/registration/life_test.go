package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lifeBegan is when the certificates of these tests begin.
var lifeBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func after(days int) time.Time { return lifeBegan.Add(time.Duration(days) * day) }

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// certificate is one, as PEM, that lives for some days.
func certificate(t testing.TB, name string, key *ecdsa.PrivateKey, days int) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(days)), Subject: pkix.Name{CommonName: name}, NotBefore: lifeBegan, NotAfter: after(days),
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func TestWhichEndOfACACounts(t *testing.T) {
	old, next, third := newKey(t), newKey(t), newKey(t)
	a100, a200, b300 := certificate(t, "a", old, 100), certificate(t, "a", old, 200), certificate(t, "b", next, 300)
	otherA := certificate(t, "a", third, 400)
	many := [][]byte{}
	for i := range maxBundle + 1 {
		many = append(many, certificate(t, fmt.Sprint("root-", i), old, 100+i))
	}
	bundle := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	for name, test := range map[string]struct {
		bundle []byte
		at     int
		want   int // days, 0 for none
		others bool
	}{
		"none":                                {nil, 0, 0, false},
		"no certificate":                      {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0, 0, false},
		"a key":                               {pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("x")}), 0, 0, false},
		"one":                                 {a100, 0, 100, false},
		"one that has ended":                  {a100, 150, 100, false},
		"one with junk around":                {bundle([]byte("# CA\n"), a100, []byte("junk")), 0, 100, false},
		"while a CA rolls":                    {bundle(a100, b300), 0, 100, true},
		"in the other order":                  {bundle(b300, a100), 0, 100, true},
		"after the old one has ended":         {bundle(a100, b300), 150, 300, false},
		"after both have":                     {bundle(a100, b300), 350, 300, false},
		"one that was renewed with its key":   {bundle(a100, a200), 0, 200, false},
		"and the old one behind":              {bundle(a200, a100), 0, 200, false},
		"one of the same name, another key":   {bundle(a100, otherA), 0, 100, true},
		"the same one twice":                  {bundle(a100, a100), 0, 100, false},
		"a store of many authorities":         {bundle(many...), 0, 0, false},
		"as many as mean something":           {bundle(many[:maxBundle]...), 0, 100, true},
		"more than that, and junk in between": {bundle(bundle(many...), []byte("junk"), a100), 0, 0, false},
	} {
		got := LifeOfCA(test.bundle, after(test.at))
		if test.want == 0 {
			assert.Zero(t, got, name)
			continue
		}
		assert.Equal(t, after(test.want), got.Until, name)
		assert.Equal(t, lifeBegan, got.From, name)
		assert.Equal(t, test.others, got.Others, name)
		assert.Len(t, got.Fingerprint, 16, name)
	}
}

func TestACertificateEndsWithTheFirstOfItsChain(t *testing.T) {
	leaf, intermediate := certificate(t, "leaf", newKey(t), 300), certificate(t, "intermediate", newKey(t), 100)
	assert.Equal(t, after(300), LifeOfChain(leaf).Until)
	assert.Equal(t, after(100), LifeOfChain(append(leaf, intermediate...)).Until)
	assert.False(t, LifeOfChain(nil).Known())
}

// jwtOf is a token with some claims.
func jwtOf(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestTheLifeThatATokenClaims(t *testing.T) {
	from, until := lifeBegan.Unix(), after(10).Unix()
	for name, test := range map[string]struct {
		token string
		want  Life
	}{
		"iat and exp":             {jwtOf(fmt.Sprintf(`{"sub":"a","iat":%d,"exp":%d}`, from, until)), Life{From: lifeBegan, Until: after(10)}},
		"nbf and exp":             {jwtOf(fmt.Sprintf(`{"sub":"a","nbf":%d,"exp":%d}`, from, until)), Life{From: lifeBegan, Until: after(10)}},
		"exp alone":               {jwtOf(fmt.Sprintf(`{"sub":"a","exp":%d}`, until)), Life{Until: after(10)}},
		"it ends before it began": {jwtOf(fmt.Sprintf(`{"sub":"a","iat":%d,"exp":%d}`, until, from)), Life{Until: lifeBegan}},
		"without an end":          {jwtOf(`{"sub":"a"}`), Life{}},
		"an end beyond time":      {jwtOf(`{"sub":"a","exp":1e300}`), Life{}},
		"no JWT":                  {"kubeconfig-user:abcdef", Life{}},
		"none":                    {"", Life{}},
	} {
		assert.Equal(t, test.want, LifeOfToken(test.token), name)
	}
}

func TestALifeNearsItsEndAtAFifth(t *testing.T) {
	l := Life{From: lifeBegan, Until: after(100)}
	assert.False(t, l.EndsSoon(after(80).Add(-time.Second)))
	assert.Equal(t, after(80), l.Next(lifeBegan))
	assert.True(t, l.EndsSoon(after(80)))
	assert.Equal(t, after(100), l.Next(after(80)))
	assert.False(t, l.Ended(after(100).Add(-time.Second)))
	assert.True(t, l.Ended(after(100)))
	assert.True(t, l.EndsSoon(after(200)))
	assert.Zero(t, l.Next(after(100)))

	unmeasured := Life{Until: after(100)}
	assert.False(t, unmeasured.EndsSoon(after(99)))
	assert.Equal(t, after(100), unmeasured.Next(lifeBegan))
	assert.True(t, unmeasured.EndsSoon(after(100)))

	assert.False(t, Life{}.EndsSoon(after(1000)))
	assert.Zero(t, Life{}.Next(lifeBegan))
}

func TestOfTwoLivesTheOneThatEndsFirst(t *testing.T) {
	a, b := Life{Until: after(1)}, Life{Until: after(2)}
	assert.Equal(t, a, Sooner(a, b))
	assert.Equal(t, a, Sooner(b, a))
	assert.Equal(t, a, Sooner(Life{}, a))
	assert.Equal(t, a, Sooner(a, Life{}))
	assert.Zero(t, Sooner(Life{}, Life{}))
}

func FuzzLives(f *testing.F) {
	good := string(certificate(f, "a", newKey(f), 100))
	f.Add(good)
	f.Add(good + good)
	f.Add(strings.Replace(good, "A", "B", 3))
	f.Add(jwtOf(`{"sub":"a","iat":1,"exp":2}`))
	f.Add("-----BEGIN CERTIFICATE-----\n")
	f.Fuzz(func(t *testing.T, data string) {
		for _, life := range []Life{LifeOfCA([]byte(data), after(50)), LifeOfChain([]byte(data)), LifeOfToken(data)} {
			if !life.Known() {
				require.Zero(t, life)
				continue
			}
			raw, err := stamp(life.Until).MarshalJSON()
			require.NoError(t, err)
			require.NotEqual(t, "null", string(raw))
			require.LessOrEqual(t, len(life.Fingerprint), digestLength)
			next := life.Next(after(50))
			require.True(t, next.IsZero() || next.After(after(50)))
		}
	})
}
