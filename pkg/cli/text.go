package cli

import (
	"strings"

	"github.com/rancher/fleet/pkg/registration"
)

// Bounds of what is shown of a text that somebody else wrote, in characters.
const (
	maxWord     = 64
	maxName     = 253
	maxSentence = 512
	maxError    = 4096
)

// printable is what may be shown on a terminal of a text that an agent, or who writes to a hub, chose freely.
func printable(text string, max int) string { return registration.Shown(text, max) }

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
