package permissions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown is the matrix as docs/security.md shows it.
func (m Matrix) Markdown() string {
	var out strings.Builder
	out.WriteString("| identity | at | who that is |\n|---|---|---|\n")
	for _, i := range m.Identities {
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", i.Name, i.At, i.About)
	}
	out.WriteString("\n| in a row | stands for |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(m.Groups)) {
		fmt.Fprintf(&out, "| *%s* | %s |\n", name, m.people(m.Groups[name]))
	}
	out.WriteString("\nThe exact rules, as the API server tells them:\n\n| identity | where | may |\n|---|---|---|\n")
	for _, i := range m.Identities {
		rules, ok := m.Rules[i.Name]
		if !ok {
			continue
		}
		if len(rules) == 0 {
			fmt.Fprintf(&out, "| `%s` | everywhere | nothing |\n", i.Name)
		}
		for _, where := range slices.Sorted(maps.Keys(rules)) {
			for _, line := range rules[where] {
				fmt.Fprintf(&out, "| `%s` | %s | `%s` |\n", i.Name, where, line)
			}
		}
	}
	out.WriteString("\nThe attempts that are made:\n\n| who | | verbs | what | where | name |\n|---|---|---|---|---|---|\n")
	section := ""
	for _, row := range m.Requests {
		if row.Section != "" && row.Section != section {
			section = row.Section
			fmt.Fprintf(&out, "| **%s** | | | | | |\n", section)
		}
		verdict, verbs := "may", row.May
		if len(row.MayNot) > 0 {
			verdict, verbs = "may not", row.MayNot
		}
		name := row.Name
		if name != "" {
			name = "`" + name + "`"
		}
		fmt.Fprintf(&out, "| %s | %s | %s | `%s` | %s | %s |\n", m.people(row.Who), verdict, strings.Join(verbs, ", "), row.What,
			strings.Join(row.Where, ", "), name)
	}
	return out.String()
}

// people are identities and groups in a line.
func (m Matrix) people(who []string) string {
	var words []string
	for _, name := range who {
		if _, group := m.Groups[name]; group {
			words = append(words, "*"+name+"*")
		} else {
			words = append(words, "`"+name+"`")
		}
	}
	return strings.Join(words, ", ")
}
