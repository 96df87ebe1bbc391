package registration

import (
	"strings"
	"unicode"
	"unicode/utf8"
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

// Shown is the beginning of a text of somebody's choice, as a person may see it: at most limit characters, then "...".
// What a terminal acts on instead of showing it becomes a question mark, so that it is seen that something was there:
// control characters and breaks of the line, those that turn the direction of writing, and what is no UTF-8.
func Shown(text string, limit int) string {
	var shown strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > limit {
			shown.WriteString("...")
			break
		}
		if r == utf8.RuneError || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) {
			r = '?'
		}
		shown.WriteRune(r)
	}
	return shown.String()
}
