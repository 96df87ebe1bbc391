package names

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// placeholderOf are the expressions by which docs/contract.md explains a placeholder.
func placeholderOf(t *testing.T, name string) *regexp.Regexp {
	t.Helper()
	contract, err := os.ReadFile("../../docs/contract.md")
	require.NoError(t, err)
	var expressions []string
	for _, line := range strings.Split(string(contract), "\n") {
		if rest, found := strings.CutPrefix(line, "| `"+name+"` | `"); found {
			expression, _, _ := strings.Cut(rest, "` |")
			expressions = append(expressions, expression)
		}
	}
	require.NotEmpty(t, expressions, "docs/contract.md explains no placeholder %s", name)
	return regexp.MustCompile("^(" + strings.Join(expressions, "|") + ")$")
}

// The inventory of the contract is held against servers; which of its expressions match is held against the rules here.
func TestTheContractsPlaceholdersMatchTheNames(t *testing.T) {
	const uid = "01234567-89ab-cdef-0123-456789abcdef"
	ours := "request-" + strings.Repeat("bcdfghjklm", 6)[:54]
	for _, request := range []string{ours, "request-x2z45"} {
		account := Account(request, uid)
		assert.Regexp(t, placeholderOf(t, "<request>"), request)
		assert.Regexp(t, placeholderOf(t, "<request-account>"), account)
	}
	for _, token := range []string{"edge", "import-token-" + strings.Repeat("x", 50), strings.Repeat("x.", 60)} {
		account := Account(token, uid)
		assert.Regexp(t, placeholderOf(t, "<import-account>"), account)
		assert.Regexp(t, placeholderOf(t, "<import-access>"), CredentialAccess(account))
		assert.Regexp(t, placeholderOf(t, "<import-role>"), ImportRole(account))
		assert.Regexp(t, placeholderOf(t, "<import-role-binding>"), ImportRoleBinding(account))
	}
	for _, cluster := range []string{"edge", "with.dots", strings.Repeat("x", 60)} {
		assert.Regexp(t, placeholderOf(t, "<cluster-namespace>"), ClusterNamespace("fleet-default", cluster))
	}
	assert.Regexp(t, placeholderOf(t, "<credential>"), CredentialSecret("client", "random"))
}

// The namespaces of all rounds have one form, and no two of them one name.
func TestAReadmittedClusterHasANamespaceOfTheSameForm(t *testing.T) {
	for _, cluster := range []string{"edge", "with.dots", strings.Repeat("x", 60)} {
		assert.Equal(t, ClusterNamespace("fleet-default", cluster), ClusterPlace("fleet-default", cluster, 0))
		seen := map[string]bool{}
		for round := range 20 {
			name := ClusterPlace("fleet-default", cluster, round)
			assert.Regexp(t, placeholderOf(t, "<cluster-namespace>"), name)
			assert.False(t, seen[name], name)
			seen[name] = true
		}
	}
}
