package preflight

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/rancher/fleet/pkg/registration"
)

// Bounds of what is shown, in characters: of one text that somebody else chose, and of a whole sentence around such.
const (
	maxWord     = 256
	maxSentence = 1500
)

// minSecret is the length from which a secret is looked for in other texts: a shorter one would be found in every second
// word, and tell itself by its absence.
const minSecret = 6

// credentials look like what a server or a proxy may repeat of a request.
var credentials = regexp.MustCompile(`eyJ[\w-]+\.[\w-]*\.?[\w-]*|(?i:bearer|basic)\s+[\w+/=.~-]{6,}`)

// clean makes a text that others had a part in fit to be shown.
func clean(text string, secrets []string) string {
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "(a credential)")
			text = withoutBeginning(text, secret)
		}
	}
	text = credentials.ReplaceAllString(text, "(a credential)")
	return printable(strings.ReplaceAll(text, "\n", "; "), maxSentence) // errors that were joined have line breaks
}

// withoutBeginning takes out the beginning of a secret that was cut: a server that repeats it at the right place would
// else have most of it shown.
func withoutBeginning(text, secret string) string {
	for n := len(secret) - 1; n >= minSecret; n-- {
		text = strings.ReplaceAll(text, secret[:n]+cutMark, "(a credential)")
	}
	return text
}

// cutMark is what registration.Shown puts behind a text that it cut.
const cutMark = "..."

// word bounds a single text that somebody else chose.
func word(text string) string { return printable(text, maxWord) }

func printable(text string, limit int) string { return registration.Shown(text, limit) }

// addressText is a URL without user, password, query and fragment.
func addressText(u *url.URL) string {
	if u == nil {
		return ""
	}
	return word((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
