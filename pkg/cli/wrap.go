package cli

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Widths of what people read, in characters. JSON and YAML have everything whole.
const (
	// widthCell is how much of a text a list shows.
	widthCell = 100
	// widthID is how much of an ID a list shows, enough to tell two apart.
	widthID = 14
	// widthDetail is the width of a column that has the longest text of its table.
	widthDetail = 72
	// widthLine is the width of a line of text.
	widthLine = 116
)

// cut is the beginning of a text that is too long for a list.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:width-1]), " ") + "…"
}

// atoms are the words of a text; a command between backquotes is one, for it is copied whole.
var atoms = regexp.MustCompile("(?:`[^`]*`|[^\\s`])+|`")

// wrap breaks a text into lines of a width. A word that is longer stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line, length := "", 0
	for _, word := range atoms.FindAllString(text, -1) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > width {
			lines, line, length = append(lines, line), "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}

// decisionCommands are those that messages of the hub and of explain name in full.
var decisionCommands = regexp.MustCompile("`fleet registration (approve --replace|approve|deny) [^` ]+ -n [^` ]+`")

// brief names the commands of a decision by their verb alone, where they stand in full below.
func brief(text string) string { return decisionCommands.ReplaceAllString(text, "`$1`") }
