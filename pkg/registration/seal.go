package registration

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

const (
	// protocol separates this use of a key from every other.
	protocol = "fleet/v1"
	// fingerprintLength is the length of a key's fingerprint in hex digits.
	fingerprintLength = 32
	// keyLength is the length of an X25519 key in bytes.
	keyLength = 32
)

// The cipher suite is part of the protocol: X25519, HKDF-SHA256, AES-256-GCM (RFC 9180).
func kem() hpke.KEM   { return hpke.DHKEM(ecdh.X25519()) }
func kdf() hpke.KDF   { return hpke.HKDFSHA256() }
func aead() hpke.AEAD { return hpke.AES256GCM() }

// Binding is everything that a sealed credential is bound to. A ciphertext opens only for one who holds the key and
// knows every part as the hub knew it.
type Binding struct {
	HubUID           string
	Workspace        string
	Request          string
	ClientID         string
	ClientRandom     string
	ClusterUID       string
	PublicKey        string
	ImportAccountUID string
}

// info is the binding with each part's length before it, so that no two bindings have the same bytes.
func (b Binding) info() []byte {
	var out bytes.Buffer
	for _, part := range []string{
		protocol, b.HubUID, b.Workspace, b.Request, b.ClientID, b.ClientRandom, b.ClusterUID, b.PublicKey, b.ImportAccountUID,
	} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		out.Write(length[:])
		out.WriteString(part)
	}
	return out.Bytes()
}

// Seal encrypts a token to the public key of the binding. The result is base64.
func Seal(b Binding, token string) (string, error) {
	raw, err := decodePublicKey(b.PublicKey)
	if err != nil {
		return "", err
	}
	pub, err := kem().NewPublicKey(raw)
	if err != nil {
		return "", fmt.Errorf("identity.publicKey is no X25519 key: %w", err)
	}
	sealed, err := hpke.Seal(pub, kdf(), aead(), b.info(), []byte(token))
	if err != nil {
		return "", fmt.Errorf("sealing to identity.publicKey: %w", err)
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// ErrNotForUs says that a sealed credential was made for another key, or for another request than ours.
var ErrNotForUs = errors.New("the credential was sealed for another key or another request")

// Open decrypts what Seal made. It fails with ErrNotForUs if the key or any part of the binding is another.
func (id Identity) Open(b Binding, sealed string) (string, error) {
	if len(sealed) > maxSealed {
		return "", fmt.Errorf("key %q has %d bytes, more than a sealed token can have", KeySealedToken, len(sealed))
	}
	ciphertext, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("key %q is not base64: %w", KeySealedToken, err)
	}
	priv, err := kem().NewPrivateKey(id.private)
	if err != nil {
		return "", fmt.Errorf("the agent's own key cannot be used: %w", err)
	}
	token, err := hpke.Open(priv, kdf(), aead(), b.info(), ciphertext)
	if err != nil {
		return "", ErrNotForUs
	}
	return string(token), nil
}

// Identity is an agent's key pair, made once and kept in Secret fleet-agent-identity.
type Identity struct {
	private, public []byte
}

// NewIdentity makes a key pair.
func NewIdentity() (Identity, error) {
	priv, err := kem().GenerateKey()
	if err != nil {
		return Identity{}, fmt.Errorf("making the agent's key: %w", err)
	}
	raw, err := priv.Bytes()
	if err != nil {
		return Identity{}, fmt.Errorf("making the agent's key: %w", err)
	}
	return IdentityFrom(raw)
}

// IdentityFrom restores a key pair from the bytes of Private.
func IdentityFrom(private []byte) (Identity, error) {
	priv, err := kem().NewPrivateKey(private)
	if err != nil {
		return Identity{}, fmt.Errorf("the stored private key cannot be used: %w", err)
	}
	return Identity{private: private, public: priv.PublicKey().Bytes()}, nil
}

// Private are the bytes to store.
func (id Identity) Private() []byte { return id.private }

// PublicKey is the key as it stands in a registration request, base64.
func (id Identity) PublicKey() string { return base64.StdEncoding.EncodeToString(id.public) }

// Fingerprint names the key, see Fingerprint.
func (id Identity) Fingerprint() string { return fingerprint(id.public) }

// Fingerprint names a public key as it stands in a registration request: the first 32 hex digits of its SHA-256.
func Fingerprint(publicKey string) (string, error) {
	raw, err := decodePublicKey(publicKey)
	if err != nil {
		return "", err
	}
	return fingerprint(raw), nil
}

func fingerprint(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:fingerprintLength]
}

// decodePublicKey takes one spelling of a key only: base64 can carry line breaks and unused bits, and the text of the key is
// a part of the binding.
func decodePublicKey(publicKey string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(publicKey)
	if err != nil || len(raw) != keyLength || base64.StdEncoding.EncodeToString(raw) != publicKey {
		return nil, errors.New("identity.publicKey is not the base64 of an X25519 public key")
	}
	if !contributes(raw) {
		return nil, errors.New("identity.publicKey is a point to which nothing can be sealed; make a key pair with crypto/hpke")
	}
	return raw, nil
}

// contributes says whether a key exchange with a public key has a secret result. A few points make every result zero,
// and the library refuses those only when it seals, after a token was minted.
func contributes(raw []byte) bool {
	public, err := ecdh.X25519().NewPublicKey(raw)
	if err != nil {
		return false
	}
	var scalar [keyLength]byte
	scalar[0] = 8
	private, err := ecdh.X25519().NewPrivateKey(scalar[:])
	if err != nil {
		return false
	}
	_, err = private.ECDH(public)
	return err == nil
}
