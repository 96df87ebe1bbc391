package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is shown of a text that somebody else wrote, in characters.
const (
	maxWord     = 64
	maxName     = 253
	maxSentence = 512
	maxError    = 4096
)

// printable is what may be shown on a terminal of a text that an agent, or who writes to a hub, chose freely. What a
// terminal acts on instead of showing it, which could change what is read on other lines, becomes a question mark: control
// characters, those that turn the direction of writing, invisible ones and what is no UTF-8. At most max characters are
// shown.
func printable(text string, max int) string {
	var shown strings.Builder
	count := 0
	for _, r := range text {
		if count++; count > max {
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

// printableLines keeps the line breaks, of which errors that were joined have some.
func printableLines(text string, max int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line, max)
		if max -= len(line) + 1; max <= 0 {
			return strings.Join(lines[:i+1], "\n")
		}
	}
	return strings.Join(lines, "\n")
}
