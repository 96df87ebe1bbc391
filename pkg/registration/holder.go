package registration

import (
	"regexp"
	"strings"
)

// noKey stands in a holder for an agent without a key.
const noKey = "-"

// maxInstance bounds the part of a holder that an agent chooses, in bytes, so that the whole fits a Lease.
const maxInstance = 180

// foreignToInstance is what no pod's name has. It goes from an untrusted Lease into conditions, logs and tables.
var foreignToInstance = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// Holder is what a heartbeat's Lease says of its writer.
type Holder struct {
	// Instance is the agent process, a pod's name.
	Instance string
	// Fingerprint is that of the agent's key, empty for an agent without one.
	Fingerprint string
	// Digest names the token that the agent uses.
	Digest string
}

// String is the holder as it stands in the Lease: instance/fingerprint/digest. What an instance may not have, such as a
// slash, becomes "_".
func (h Holder) String() string {
	instance := foreignToInstance.ReplaceAllString(h.Instance, "_")
	if instance == "" {
		instance = "_"
	}
	if len(instance) > maxInstance {
		instance = instance[:maxInstance]
	}
	key := h.Fingerprint
	if key == "" {
		key = noKey
	}
	return instance + "/" + key + "/" + h.Digest
}

// ParseHolder reads a holder. It is untrusted: ok is false where it has not the form that an agent writes.
func ParseHolder(s string) (h Holder, ok bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || parts[0] == "" || len(parts[0]) > maxInstance || foreignToInstance.MatchString(parts[0]) {
		return Holder{}, false
	}
	if parts[1] != noKey && !isHex(parts[1], fingerprintLength) {
		return Holder{}, false
	}
	if !isHex(parts[2], digestLength) {
		return Holder{}, false
	}
	h = Holder{Instance: parts[0], Fingerprint: parts[1], Digest: parts[2]}
	if h.Fingerprint == noKey {
		h.Fingerprint = ""
	}
	return h, true
}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}
