package clusterimport

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzPlain: a foreign cluster, and whoever stands on the way to it, choose the words of an error. They end in a condition.
func FuzzPlain(f *testing.F) {
	token := jwt("uid")
	for _, seed := range []string{
		"", "no", "\x1b[2J\x00", "\xff\xfe", "\u202eevil\u2028", strings.Repeat("x", 100<<10), strings.Repeat("ä", 1000), "Authorization: Bearer " + token,
		strings.Repeat("x", maxText-10) + token, strings.Repeat("y", 8*maxText-20) + token, "BEARER\u00a0" + token, "bearer\n" + token, token + token,
		"read tcp 10.0.0.1:4711->10.0.0.2:443: reset", "current time 2026-03-01T12:00:00Z is after", strings.Repeat("Bearer a ", 2000), "%s%n%d",
	} {
		f.Add(seed)
	}
	whole := regexp.MustCompile(`eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{3,}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := plain(errors.New(text))
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, utf8.RuneCountInString(got), maxText+3)
		require.Less(t, strings.IndexFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }), 0, "%q", got)
		require.NotRegexp(t, whole, got)
		require.Equal(t, got, plain(errors.New(text)), "the same trouble reads the same")
		require.Equal(t, got, plain(&trouble{reason: "Test", err: errors.New(text)}), "whatever is around it")
	})
}
