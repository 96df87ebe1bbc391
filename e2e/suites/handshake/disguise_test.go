package handshake

import "regexp"

// What differs from one run of a handshake to the next, and what stands for it. The order counts.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\bp\d{3}x\b`), "P"},
	{regexp.MustCompile(`eyJ[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+`), "JWT"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( ?(Z|UTC))?`), "TIME"},
	{regexp.MustCompile(`request-[bcdfghjklmnpqrstvwxz2456789]{54}`), "REQUEST"},
	{regexp.MustCompile(`request-[bcdfghjklmnpqrstvwxz2456789]{49}-[0-9a-f]{5}`), "REQUEST-ACCOUNT"},
	{regexp.MustCompile(`\b[bcdfghjklmnpqrstvwxz2456789]{54}\b`), "RANDOM"},
	{regexp.MustCompile(`\bpublicKey: [+/=A-Za-z0-9]{44}`), "publicKey: KEY"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){2,3}-[0-9a-f]{1,11}-[0-9a-f]{5,6}\b`), "CUT-UID"}, // a name that was shortened
	{regexp.MustCompile(`\bc-[0-9a-f]{61}\b`), "CREDENTIAL"},
	{regexp.MustCompile(`\b[0-9a-f]{12,}\b`), "HEX"},
	{regexp.MustCompile(`(release: \S+):[0-9]+\b`), "$1:REVISION"}, // an agent that was killed begins another
	{regexp.MustCompile(`"HEX"`), "HEX"},                           // YAML quotes what could be read as a number
}

// disguise puts the role in the place of each name, time or token that is another in every run.
func disguise(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	return text
}
