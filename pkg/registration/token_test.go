package registration

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// jwt is an unsigned token with the given claims.
func jwt(claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256","kid":"k"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
}

const (
	requestedClaims = `{"aud":["https://kubernetes.default.svc"],"exp":1800000000,"iat":1700000000,"iss":"i","jti":"j",
		"kubernetes.io":{"namespace":"cattle-fleet-agents-system","serviceaccount":{"name":"request-x-1","uid":"uid-1"}},
		"nbf":1700000000,"sub":"system:serviceaccount:cattle-fleet-agents-system:request-x-1"}`
	secretClaims = `{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"fleet-default",
		"kubernetes.io/serviceaccount/secret.name":"s","kubernetes.io/serviceaccount/service-account.name":"edge",
		"kubernetes.io/serviceaccount/service-account.uid":"uid-2","sub":"system:serviceaccount:fleet-default:edge"}`
)

func TestClaimsOfBothKindsOfToken(t *testing.T) {
	got, err := ParseClaims(jwt(requestedClaims))
	require.NoError(t, err)
	assert.Equal(t, Claims{
		Subject:   "system:serviceaccount:cattle-fleet-agents-system:request-x-1",
		Namespace: "cattle-fleet-agents-system", Account: "request-x-1", AccountUID: "uid-1",
		IssuedAt: time.Unix(1700000000, 0).UTC(), NotBefore: time.Unix(1700000000, 0).UTC(), Expires: time.Unix(1800000000, 0).UTC(),
	}, got)

	got, err = ParseClaims(jwt(secretClaims))
	require.NoError(t, err)
	assert.Equal(t, Claims{
		Subject: "system:serviceaccount:fleet-default:edge", Namespace: "fleet-default", Account: "edge", AccountUID: "uid-2",
	}, got, "a token of a Secret has no end")
}

// Attack 8: odd times are no times.
func TestOddTimesInClaims(t *testing.T) {
	for value, want := range map[string]time.Time{
		"0": {}, "-1": {}, "null": {}, "253402300800": {}, "1e300": {},
		"253402300799":  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"1800000000.75": time.Unix(1800000000, 0).UTC(),
		"1.8e9":         time.Unix(1800000000, 0).UTC(),
	} {
		got, err := ParseClaims(jwt(fmt.Sprintf(`{"sub":"s","exp":%s,"iat":%s}`, value, value)))
		require.NoError(t, err, value)
		assert.Equal(t, want, got.Expires, value)
		assert.Equal(t, want, got.IssuedAt, value)
	}
}

func TestWhatIsNoTokenIsNotRead(t *testing.T) {
	for _, token := range []string{
		"", ".", "..", "...", "a.b.c", "hunter2", "a.hunter2.c.d",
		jwt(""), jwt("hunter2"), jwt("[]"), jwt("null"), jwt("{}"), jwt(`{"sub":""}`), jwt(`{"sub":5}`), jwt(`{"sub":"s","exp":"x"}`),
		jwt(`{"sub":"s","exp":1e999}`), jwt(`{"sub":"s","kubernetes.io":[]}`),
		"a." + base64.StdEncoding.EncodeToString([]byte(`{"sub":"s"}`)) + ".c",
		strings.Repeat("a", maxToken+1),
		strings.Repeat(".", 1<<20),
	} {
		got, err := ParseClaims(token)
		require.Error(t, err, "%.80q", token)
		assert.Zero(t, got)
		assert.NotContains(t, err.Error(), "hunter2", "an error tells no token")
		assert.Less(t, len(err.Error()), 200)
	}
}

func TestDigestNamesATokenWithoutTellingIt(t *testing.T) {
	assert.Equal(t, "ba7816bf8f01cfea", Digest("abc"), "the first half of the first half of its SHA-256")
	assert.NotEqual(t, Digest(testToken), Digest(testToken+"x"))
	assert.True(t, isHex(Digest(""), digestLength))
}

func TestRenewalIsDueWithAThirdLeft(t *testing.T) {
	issued := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, issued.Add(60*time.Hour), RenewalDue(issued, issued.Add(90*time.Hour)))
	assert.Equal(t, issued.Add(400*time.Second), RenewalDue(issued, issued.Add(10*time.Minute)))
	assert.Zero(t, RenewalDue(issued, time.Time{}), "what has no end is never due")
	due := RenewalDue(time.Time{}, issued)
	assert.False(t, due.IsZero(), "an end without a beginning is due at some time")
	assert.True(t, due.Before(issued))
}

func FuzzParseClaims(f *testing.F) {
	f.Add(jwt(requestedClaims), requestedClaims)
	f.Add(jwt(secretClaims), secretClaims)
	f.Add("..", `{"sub":"s","exp":1e308}`)
	f.Add("a.!.c", `{"sub":["s"],"exp":"soon"}`)
	f.Add(strings.Repeat(".", 100), `{"sub":"\u0000","exp":-0.5,"iat":9e18,"nbf":null}`)
	f.Add("\xff.\xff.\xff", `{"SUB":"s","kubernetes.io":[],"exp":253402300799.9}`)
	f.Add(strings.Repeat("a", maxToken+1), strings.Repeat(`{"kubernetes.io":`, 3000))
	f.Fuzz(func(t *testing.T, token, claims string) {
		for _, token := range []string{token, jwt(claims)} {
			c, err := ParseClaims(token)
			if err != nil {
				checkError(t, err, "token", token)
				require.Zero(t, c)
				continue
			}
			require.NotEmpty(t, c.Subject)
			require.True(t, len(c.Subject)+len(c.AccountUID) <= 6*maxToken, "no longer than the token, whatever stands for what cannot be read")
			_, err = json.Marshal([]time.Time{c.IssuedAt, c.Expires})
			require.NoError(t, err, "a time can be stored")
			require.False(t, RenewalDue(c.IssuedAt, c.Expires).After(c.Expires) && c.IssuedAt.Before(c.Expires))
		}
	})
}
