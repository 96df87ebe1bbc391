package registration

import (
	"strings"
	"unicode"
)

// Printable is the beginning of a text of somebody's choice, at most limit characters, in one line: what cannot be printed
// becomes a space.
func Printable(text string, limit int) string {
	count := 0
	for i := range text {
		if count++; count > limit {
			text = text[:i]
			break
		}
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text))
}
