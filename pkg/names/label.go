package names

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// labelHash is how many hex digits keep two shortened label values apart; they are matched exactly.
const labelHash = 12

var (
	validLabelValue = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
	foreignToLabel  = regexp.MustCompile(`[^-A-Za-z0-9_.]+`)
)

// LabelValue is s where it can be the value of a label. Names of objects can be four times as long as a label's value:
// such a one is shortened by a hash, and the full name belongs into an annotation or a spec beside it.
func LabelValue(s string) string {
	if len(s) <= maxName && validLabelValue.MatchString(s) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	hash := hex.EncodeToString(sum[:])[:labelHash]
	readable := strings.Trim(foreignToLabel.ReplaceAllString(s, "-"), "-_.")
	if readable == "" {
		return hash
	}
	return readable[:min(len(readable), maxName-labelHash-1)] + "-" + hash
}
