package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// testFunctions are the names of all tests and fuzz targets, of all modules.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "dist" || len(entry.Name()) > 2 && entry.Name()[0] == '.') {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(source, -1) {
			found[string(match[1])] = true
		}
		return err
	})
	require.NoError(t, err)
	return found
}

// namedTests are the tests and fuzz targets that a page names.
func namedTests(page []byte) (named []string) {
	for _, match := range regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllSubmatch(page, -1) {
		named = append(named, string(match[1]))
	}
	return named
}

// docs/testing.md says which behaviour is pinned by which test: a test that is renamed takes its line along, and a fuzz
// target that is new is listed.
func TestThePageOnTestingNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "testing.md"))
	require.NoError(t, err)
	exist := testFunctions(t)
	named := namedTests(page)
	for _, name := range named {
		assert.True(t, exist[name], "docs/testing.md names %s, which is no test", name)
	}
	require.Greater(t, len(named), 100, "the page is read")
	for name := range exist {
		if strings.HasPrefix(name, "Fuzz") {
			assert.True(t, slices.Contains(named, name), "docs/testing.md lists no %s among what is fuzzed", name)
		}
	}
}
