package main

import (
	"fmt"
	"strings"
)

// section is the part of the page for one chart.
func section(chart, intro string, values []value, s *schema) string {
	var page strings.Builder
	fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| value | type | default | what it does |\n|---|---|---|---|\n", chart, prose(intro))
	for _, v := range values {
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", v.path, cell(s.kind(v)), standard(v), what(v))
	}
	return page.String()
}

// prose is a comment as Markdown, in which what was indented is code.
func prose(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// standard is the cell for what a value is unless it is set.
func standard(v value) string {
	if v.group {
		return ""
	}
	text, err := preset(v.node)
	if err != nil || strings.Contains(text, "`") {
		return cell(text)
	}
	return "`" + cell(text) + "`"
}

// what is the cell for what a value does.
func what(v value) string {
	if v.text == "" {
		return fmt.Sprintf("see `%s`", v.see)
	}
	var words []string
	for _, line := range strings.Split(v.text, "\n") {
		switch code := strings.TrimSpace(line); {
		case code == "":
		case strings.HasPrefix(line, "  "):
			words = append(words, "`"+code+"`")
		default:
			words = append(words, line)
		}
	}
	return cell(strings.Join(words, " "))
}

// cell makes a text fit into a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", `\|`)
}
