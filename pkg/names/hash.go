package names

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/name"
)

// maxName is the longest DNS label, and the longest value of a label.
const maxName = 63

// Hex is the first n hex digits of the MD5 of s, at most 32. It tells names apart; it protects nothing.
func Hex(s string, n int) string {
	return name.Hex(s, n)
}

// ContentID is the name of the Content that holds a manifest, given as the manifest's JSON.
func ContentID(manifest []byte) string {
	sum := sha256.Sum256(manifest)
	return ("s-" + hex.EncodeToString(sum[:]))[:maxName]
}

// FieldHash is the digest by which a status remembers a field: the SHA-224 of its JSON. A nil slice is the JSON null, and
// so has another hash than an empty one.
func FieldHash(field any) (string, error) {
	raw, err := json.Marshal(field)
	if err != nil {
		return "", fmt.Errorf("hashing a field of type %T: %w", field, err)
	}
	sum := sha256.Sum224(raw)
	return hex.EncodeToString(sum[:]), nil
}

// ObjectSetHash is the label by which the apply engine finds the objects of a set, from the set's ID and its owner's
// kind, name and namespace as they stand in the annotations of those objects. What a set has not is empty.
func ObjectSetHash(setID, ownerGVK, ownerName, ownerNamespace string) string {
	sum := sha1.Sum([]byte(setID + ownerGVK + ownerName + ownerNamespace))
	return hex.EncodeToString(sum[:])
}
