package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inDocumentation is a command as the pages show it, on a line of its own or in a sentence.
var inDocumentation = regexp.MustCompile("(?m)(?:^|[`$(] ?)(?:bin/)?fleet ((?:controller|agent|cluster|token|registration|bundle|target|deploy|completion|version)\\b[^`\\n]*)")

// What the pages tell people to type can be typed.
func TestDocumentedCommandsExist(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	commands := newApp(&bytes.Buffer{}, &bytes.Buffer{}).Commands
	checked := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, match := range inDocumentation.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(match[1], " #")
			line, _, _ = strings.Cut(line, " > ")
			if strings.ContainsAny(line, "|…") && !strings.Contains(line, "-…") {
				continue // several at once, in a sentence
			}
			words := strings.Fields(strings.TrimRight(line, ")"))
			verb, _, depth := verbIn(commands, append([]string{"fleet"}, words...))
			if verb == nil && !strings.Contains(line, "-") && len(words) == 1 {
				continue // the name of a group of commands
			}
			if !assert.NotNil(t, verb, "%s: fleet %s", page, line) {
				continue
			}
			checked++
			for _, word := range words[depth-1:] {
				name, _, _ := strings.Cut(strings.TrimLeft(word, "-["), "=")
				if strings.HasPrefix(strings.TrimLeft(word, "["), "-") && len(word) > 1 {
					assert.NotNil(t, flagNamed(verb, strings.TrimRight(name, "]")), "%s: fleet %s: there is no flag %s", page, line, word)
				}
			}
		}
	}
	assert.Greater(t, checked, 20)
}
