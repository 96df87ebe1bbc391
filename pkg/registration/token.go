package registration

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// digestLength is how many hex digits of a token's SHA-256 name it: enough to tell tokens apart, useless to guess one.
const digestLength = 16

// Claims are what a service-account token says of itself. Nothing here is verified: they serve to know one's own token.
type Claims struct {
	// Subject is the user name, "system:serviceaccount:<namespace>:<name>".
	Subject string
	// Namespace, Account and AccountUID name the service account.
	Namespace, Account, AccountUID string
	// IssuedAt, NotBefore and Expires are zero where the token does not say.
	IssuedAt, NotBefore, Expires time.Time
}

// Digest names a token without telling it.
func Digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])[:digestLength]
}

type rawClaims struct {
	Subject   string   `json:"sub"`
	Expires   *float64 `json:"exp"`
	IssuedAt  *float64 `json:"iat"`
	NotBefore *float64 `json:"nbf"`
	Bound     struct {
		Namespace      string `json:"namespace"`
		ServiceAccount struct {
			Name string `json:"name"`
			UID  string `json:"uid"`
		} `json:"serviceaccount"`
	} `json:"kubernetes.io"`
	SecretNamespace string `json:"kubernetes.io/serviceaccount/namespace"`
	SecretAccount   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	SecretUID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
}

// ParseClaims reads the claims of a JWT, of TokenRequest or of a token Secret.
func ParseClaims(token string) (Claims, error) {
	if len(token) > maxToken {
		return Claims{}, fmt.Errorf("token has %d bytes, more than a service-account token can have", len(token))
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, errors.New("token is no JWT: it has not three parts")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Claims{}, errors.New("token is no JWT: its claims are not base64")
	}
	var raw rawClaims
	if err := json.Unmarshal(payload, &raw); err != nil {
		return Claims{}, errors.New("token is no JWT: its claims are not JSON")
	}
	c := Claims{
		Subject:    raw.Subject,
		Namespace:  first(raw.Bound.Namespace, raw.SecretNamespace),
		Account:    first(raw.Bound.ServiceAccount.Name, raw.SecretAccount),
		AccountUID: first(raw.Bound.ServiceAccount.UID, raw.SecretUID),
		IssuedAt:   fromUnix(raw.IssuedAt),
		NotBefore:  fromUnix(raw.NotBefore),
		Expires:    fromUnix(raw.Expires),
	}
	if c.Subject == "" {
		return Claims{}, errors.New("token names no subject")
	}
	return c, nil
}

// maxUnix is the last second of the year 9999, the last that JSON times can say.
const maxUnix = 253402300799

func fromUnix(seconds *float64) time.Time {
	if seconds == nil || *seconds <= 0 || *seconds > maxUnix {
		return time.Time{}
	}
	return time.Unix(int64(*seconds), 0).UTC()
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// RenewalDue is the time from which a credential is to be renewed: a third of its life is left.
func RenewalDue(issued, expires time.Time) time.Time {
	if expires.IsZero() {
		return time.Time{}
	}
	return expires.Add(-expires.Sub(issued) / 3)
}
