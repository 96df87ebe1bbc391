package sandbox

import (
	"strings"
	"unicode"
)

// maxMessage is how long a message may be that goes into a status.
const maxMessage = 300

// Bounded makes one short printable line of a text that someone else chose.
func Bounded(text string) string {
	const ellipsis = "…"
	// No more is looked at than can be shown.
	text = text[:min(len(text), 4*maxMessage)]
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return '.'
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage - len(ellipsis)
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + ellipsis
}
