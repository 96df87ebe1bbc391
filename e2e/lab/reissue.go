package lab

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
	"time"
)

// reissuedLife is how long a reissued token is good, until its end.
const reissuedLife = time.Hour

// Reissue is a service account's token as the API server would have made it for another hour, the one that ends then: it has
// the same claims otherwise, and is signed with the control plane's own key. Nobody has to wait for the end of a token.
func (c *ControlPlane) Reissue(token string, expires time.Time) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("reissuing a token on %s: it has %d parts, not three", c.Name, len(parts))
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("reissuing a token on %s: %w", c.Name, err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(body, &claims); err != nil {
		return "", fmt.Errorf("reissuing a token on %s: %w", c.Name, err)
	}
	claims["exp"], claims["iat"], claims["nbf"] = expires.Unix(), expires.Add(-reissuedLife).Unix(), expires.Add(-reissuedLife).Unix()
	if body, err = json.Marshal(claims); err != nil {
		return "", fmt.Errorf("reissuing a token on %s: %w", c.Name, err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(body)
	signature, err := c.sign(signed)
	if err != nil {
		return "", fmt.Errorf("reissuing a token on %s: %w", c.Name, err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// sign makes the signature of a JWT by the algorithm ES256: the two numbers one after the other, 32 bytes each.
func (c *ControlPlane) sign(text string) ([]byte, error) {
	key, err := c.signingKey()
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return nil, err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signature, nil
}

func (c *ControlPlane) signingKey() (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(c.path(fileServiceAccountKey + pairKey))
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s%s is no PEM", fileServiceAccountKey, pairKey)
	}
	return x509.ParseECPrivateKey(block.Bytes)
}
