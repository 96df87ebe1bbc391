package clusterimport

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/rancher/fleet/pkg/names"
)

// digestLength is how many hex digits tell two kubeconfigs apart.
const digestLength = 16

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// caHash is the CA as status.apiServerCAHash says it. Nil and empty are one: no CA.
func caHash(ca []byte) string {
	if len(ca) == 0 {
		ca = nil
	}
	hash, err := names.FieldHash(ca)
	if err != nil {
		return ""
	}
	return hash
}
