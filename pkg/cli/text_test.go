package cli

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
)

func TestTextOfOthersIsShownWithoutWhatATerminalActsOn(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"v0.17.0-rc.1+abc":           "v0.17.0-rc.1+abc",
		"größer, 日本, \U0001F600":     "größer, 日本, \U0001F600",
		"\x1b[2J\x1b]0;title\x07":    "?[2J?]0;title?",
		"a\tb\nc\rd\x00e\x7f":        "a?b?c?d?e?",
		"\u009b31m\u0085\u0090":      "?31m??",
		"\u202etxt.exe\u202c":        "?txt.exe?",
		"\u2066a\u2067b\u2068\u2069": "?a?b??",
		"\u200fa\u200eb\u061c":       "?a?b?",
		"a\u2028b\u2029c":            "a?b?c",
		"a\u200bb\ufeffc\u00add":     "a?b?c?d",
		"a\xffb\xc3":                 "a?b?",
		"\ue000\U000f0000":           "??",
	} {
		assert.Equal(t, want, printable(text, 100), "%q", text)
	}
}

func TestNoControlCharacterIsShown(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		shown := printable(string(r), 1)
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			assert.Equal(t, "?", shown, "%U", r)
		}
	}
}

func TestTextOfOthersIsCut(t *testing.T) {
	assert.Equal(t, "日本", printable("日本", 2))
	assert.Equal(t, "日本...", printable("日本語", 2))
	assert.Len(t, printable(strings.Repeat("x", 1<<20), maxWord), maxWord+3)
}

func TestLinesOfAnErrorStayLines(t *testing.T) {
	assert.Equal(t, "a\nb?[2J\n", printableLines("a\nb\x1b[2J\n", 100))
	long := printableLines(strings.Repeat("line\n", 1<<16), 400)
	assert.Less(t, len(long), 600)
	assert.True(t, strings.HasPrefix(long, "line\nline\n"))
	assert.Less(t, len(printableLines(strings.Repeat("\n", 1<<16), 400)), 600)
}

func TestAnErrorIsShownWithoutWhatATerminalActsOn(t *testing.T) {
	_, _, errOut := typed("bo\x1bgus")
	assert.NotContains(t, errOut, "\x1b")
	_, _, errOut = typed("--bo\x1bgus")
	assert.NotContains(t, errOut, "\x1b")
	assert.Contains(t, errOut, fmt.Sprintf("bo%sgus", "?"))
}
