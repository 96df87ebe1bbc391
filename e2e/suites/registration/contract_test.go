package registration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rancher/fleet/e2e/stage"
)

// row is a line of an inventory table of docs/contract.md: a kind of object in a namespace, by the pattern of its name.
type row struct {
	namespace, kind, name string
	// when is the first word of the last column, remark what follows it.
	when, remark string
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |", r.namespace, r.kind, r.name, r.when)
}

// literal says that a row names one object and no pattern.
func (r row) literal() bool { return !strings.Contains(r.name, "<") }

// contract is what docs/contract.md says exists.
type contract struct {
	hub, downstream, kubernetes []row
	// placeholders are the expressions that stand for a placeholder, of which any may match.
	placeholders map[string][]string
}

func readContract(t *testing.T) contract {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, "docs", "contract.md"))
	require.NoError(t, err)
	c := contract{placeholders: map[string][]string{}}
	for name, rows := range map[string]*[]row{"inventory:hub": &c.hub, "inventory:downstream": &c.downstream, "inventory:kubernetes": &c.kubernetes} {
		for _, cells := range table(t, string(content), "<!-- "+name+" -->", "<!-- /inventory -->") {
			require.Len(t, cells, 4, "%s: %v", name, cells)
			when, remark, _ := strings.Cut(cells[3], ":")
			*rows = append(*rows, row{namespace: cells[0], kind: cells[1], name: cells[2], when: when, remark: strings.TrimSpace(remark)})
		}
	}
	for _, cells := range table(t, string(content), "<!-- placeholders -->", "<!-- /placeholders -->") {
		c.placeholders[cells[0]] = append(c.placeholders[cells[0]], cells[1])
	}
	return c
}

// table reads the cells of a Markdown table between two marks, without its head.
func table(t *testing.T, text, begin, end string) [][]string {
	t.Helper()
	_, rest, found := strings.Cut(text, begin)
	require.True(t, found, "docs/contract.md has no %s", begin)
	body, _, found := strings.Cut(rest, end)
	require.True(t, found, "docs/contract.md has no %s after %s", end, begin)
	var rows [][]string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), "`", ""))
		}
		rows = append(rows, cells)
	}
	require.Greater(t, len(rows), 2, "the table after %s in docs/contract.md is empty", begin)
	return rows[2:]
}

var placeholder = regexp.MustCompile(`<[a-z-]+>`)

// matcher knows what the placeholders of a contract stand for in one installation.
type matcher struct {
	t        *testing.T
	contract contract
	// known narrows placeholders to the values that are known, each quoted.
	known map[string][]string
}

// expression is the regular expression of a pattern.
func (m matcher) expression(pattern string) *regexp.Regexp {
	m.t.Helper()
	var out strings.Builder
	at := 0
	for _, place := range placeholder.FindAllStringIndex(pattern, -1) {
		name := pattern[place[0]:place[1]]
		out.WriteString(regexp.QuoteMeta(pattern[at:place[0]]))
		at = place[1]
		if values, ok := m.known[name]; ok {
			out.WriteString("(" + strings.Join(values, "|") + ")")
			continue
		}
		expressions := m.contract.placeholders[name]
		require.NotEmpty(m.t, expressions, "docs/contract.md explains no placeholder %s", name)
		out.WriteString("(" + strings.Join(expressions, "|") + ")")
	}
	out.WriteString(regexp.QuoteMeta(pattern[at:]))
	expression, err := regexp.Compile("^" + out.String() + "$")
	require.NoError(m.t, err, "pattern %s of docs/contract.md", pattern)
	return expression
}

// matches says whether a row stands for an object.
func (m matcher) matches(r row, key stage.Key) bool {
	m.t.Helper()
	if r.kind != key.Kind || (r.namespace == "-") != (key.Namespace == "") {
		return false
	}
	return (r.namespace == "-" || m.expression(r.namespace).MatchString(key.Namespace)) && m.expression(r.name).MatchString(key.Name)
}

// best is the row that an object belongs to, one that names it before one with a pattern; false where there is none.
func (m matcher) best(rows []row, key stage.Key) (row, bool) {
	m.t.Helper()
	var found row
	for _, r := range rows {
		if !m.matches(r, key) {
			continue
		}
		if r.literal() {
			return r, true
		}
		if found.kind == "" {
			found = r
		}
	}
	return found, found.kind != ""
}
