package architecture

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// attacks is how many attacks docs/security.md numbers.
	attacks = 21
	// ofIdentities are those of them that each need a test on a real API server, and a defence that can be taken out: the
	// attacks with a registration token, and with the identity of an agent.
	ofIdentities = 17
)

// withoutTest are the advisories of which nothing can be tested here, with the reason that the page gives.
var withoutTest = map[string]string{
	"CVE-2026-10090": "not known in enough detail to test",
}

// section is what a page says under a heading, as the cells of its table without the headings.
func section(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	require.True(t, found, heading)
	text, _, _ := strings.Cut(rest, "\n## ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "|---") {
			rows = append(rows, strings.Split(strings.Trim(line, "|"), "|"))
		}
	}
	require.Greater(t, len(rows), 1, heading)
	return rows[1:]
}

func securityPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	require.NoError(t, err)
	return string(page)
}

// docs/security.md says for each attack which test tries it.
func TestThePageOnSecurityNamesTestsThatExist(t *testing.T) {
	exist := testFunctions(t)
	named := namedTests([]byte(securityPage(t)))
	require.Greater(t, len(named), 50, "the page is read")
	for _, name := range named {
		assert.True(t, exist[name], "docs/security.md names %s, which is no test", name)
	}
}

// Each attack has its row, a verdict and a test.
func TestEveryAttackHasAVerdictAndATest(t *testing.T) {
	rows := section(t, securityPage(t), "Attacks")
	require.Len(t, rows, attacks)
	verdict := regexp.MustCompile(`^ (prevented|bounded|documented|\[documented\])`)
	for i, row := range rows {
		require.Len(t, row, 4, "row %d", i+1)
		assert.Equal(t, strconv.Itoa(i+1), strings.TrimSpace(row[0]))
		assert.Regexp(t, verdict, row[2], "attack %d", i+1)
		assert.NotEmpty(t, namedTests([]byte(row[3])), "attack %d names no test", i+1)
	}
}

// Each advisory names the test that would see its like here, or is one of those of which that cannot be.
func TestEveryAdvisoryHasATestOrAReason(t *testing.T) {
	identifier := regexp.MustCompile(`CVE-\d+-\d+`)
	rows := section(t, securityPage(t), "Advisories of systems like this")
	for _, row := range rows {
		require.Len(t, row, 3, "%q", row)
		if len(namedTests([]byte(row[2]))) > 0 {
			continue
		}
		reason := withoutTest[identifier.FindString(row[0])]
		assert.Equal(t, reason, strings.TrimSpace(row[2]), "%s names no test", row[0])
	}
}

// The attacks on identities are each tried on a real API server, by a test that says so and that the page names; and each
// has a defence that is taken out to see that a test notices.
func TestAttacksOnIdentitiesAreTriedInTheLabAndTheirDefencesTakenOut(t *testing.T) {
	tried := triedInTheLab(t)
	defences, err := os.ReadFile(filepath.Join(root, "tools", "mutate", "defences.yaml"))
	require.NoError(t, err)
	defended := map[int]bool{}
	for _, list := range regexp.MustCompile(`(?m)^  attacks: \[([\d, ]+)\]$`).FindAllStringSubmatch(string(defences), -1) {
		for n := range numbersIn(list[1]) {
			defended[n] = true
		}
	}
	rows := section(t, securityPage(t), "Attacks")
	for n := 1; n <= ofIdentities; n++ {
		named := namedTests([]byte(rows[n-1][3]))
		assert.True(t, slices.ContainsFunc(tried[n], func(test string) bool { return slices.Contains(named, test) }),
			"attack %d: its row names no test of e2e/suites with the number in its comment; those with it are %v", n, tried[n])
		assert.True(t, defended[n], "attack %d: tools/mutate/defences.yaml has no defence against it", n)
	}
	assert.Subset(t, numbersOf(attacks), slices.Collect(maps.Keys(defended)), "a defence is against an attack that is not listed")
}

// triedInTheLab are the tests of the suites by the numbers of attacks in their comments.
func triedInTheLab(t *testing.T) map[int][]string {
	t.Helper()
	tried := map[int][]string{}
	test := regexp.MustCompile(`(?m)((?:^//.*\n)+)func (Test\w+)\(`)
	number := regexp.MustCompile(`(?i:attacks?) (\d+(?:(?:, | and )\d+)*)`)
	err := filepath.WalkDir(filepath.Join(root, "e2e", "suites"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range test.FindAllSubmatch(source, -1) {
			comment := strings.ReplaceAll(string(match[1]), "\n// ", " ")
			for _, list := range number.FindAllStringSubmatch(comment, -1) {
				for n := range numbersIn(list[1]) {
					tried[n] = append(tried[n], string(match[2]))
				}
			}
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, tried)
	return tried
}

// numbersIn are the numbers of a list in words.
func numbersIn(list string) map[int]bool {
	found := map[int]bool{}
	for _, word := range regexp.MustCompile(`\d+`).FindAllString(list, -1) {
		if n, err := strconv.Atoi(word); err == nil {
			found[n] = true
		}
	}
	return found
}

func numbersOf(most int) (all []int) {
	for n := 1; n <= most; n++ {
		all = append(all, n)
	}
	return all
}
