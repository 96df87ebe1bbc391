package permissions

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of docs/security.md anew instead of comparing with it")

const (
	page       = "../../docs/security.md"
	tableBegin = "<!-- matrix -->\n"
	tableEnd   = "<!-- /matrix -->"
)

func load(t *testing.T) Matrix {
	t.Helper()
	m, err := Load()
	require.NoError(t, err)
	return m
}

// what is a place for each word that the matrix uses.
func what(m Matrix) Places {
	p := Places{Namespaces: map[string]string{everywhere: ""}, Names: map[string]string{}}
	for _, row := range m.Requests {
		for _, where := range row.Where {
			if where != everywhere {
				p.Namespaces[where] = "ns-" + where
			}
		}
		if strings.HasPrefix(row.Name, "own-") || strings.HasPrefix(row.Name, "other-") {
			p.Names[row.Name] = "name-" + row.Name
		}
	}
	return p
}

func TestTheMatrixCanBeHeldAgainstAnInstallation(t *testing.T) {
	m := load(t)
	places := what(m)
	for _, i := range m.Identities {
		expected, err := m.Expect(i.Name, places)
		require.NoError(t, err)
		assert.NotEmpty(t, expected, i.Name)
		t.Logf("%s: %d attempts", i.Name, len(expected))
	}
}

// One attempt cannot end in two ways, whatever rows it stands in.
func TestTheMatrixDoesNotContradictItself(t *testing.T) {
	m := load(t)
	places := what(m)
	for _, i := range m.Identities {
		expected, err := m.Expect(i.Name, places)
		require.NoError(t, err)
		said := map[Attempt]bool{}
		for _, e := range expected {
			before, known := said[e.Attempt]
			assert.False(t, known && before != e.Allowed, "%s: %s is both allowed and denied", i.Name, e.Attempt)
			said[e.Attempt] = e.Allowed
		}
	}
}

// Verbs that nobody needs are tried by whoever could hold them.
func TestVerbsThatNobodyNeedsAreTried(t *testing.T) {
	m := load(t)
	places := what(m)
	for _, who := range []string{"import-granted", "request", "tenant-edit", "hub"} {
		tried := map[string]bool{}
		expected, err := m.Expect(who, places)
		require.NoError(t, err)
		for _, e := range expected {
			if !e.Allowed {
				tried[e.Verb+" "+e.What()] = true
			}
		}
		for _, attempt := range []string{
			"impersonate users", "impersonate groups", "escalate clusterroles.rbac.authorization.k8s.io", "bind clusterroles.rbac.authorization.k8s.io",
			"create serviceaccounts/token", "create pods/exec", "get pods/proxy", "get nodes/proxy", "deletecollection secrets",
		} {
			assert.True(t, tried[attempt], "%s never tries %s", who, attempt)
		}
	}
}

func TestAMatrixThatSaysTooLittleIsRefused(t *testing.T) {
	const identities = "identities: [{name: a, at: hub, about: somebody}]\n"
	for name, document := range map[string]string{
		"unknown field":         identities + "reqests: []",
		"nobody":                identities + "requests: [{who: [b], may: [get], what: secrets, where: [x]}, {who: [a], may: [get], what: secrets, where: [x]}]",
		"both verdicts":         identities + "requests: [{who: [a], may: [get], mayNot: [list], what: secrets, where: [x]}]",
		"neither":               identities + "requests: [{who: [a], what: secrets, where: [x]}]",
		"nowhere":               identities + "requests: [{who: [a], may: [get], what: secrets}]",
		"somebody who does not": identities + "requests: []",
		"rules of nobody":       identities + "rules: {b: {}}\nrequests: [{who: [a], may: [get], what: secrets, where: [x]}]",
	} {
		_, err := Parse([]byte(document))
		assert.Error(t, err, name)
	}
}

func TestRulesThatTheMatrixDoesNotKnowAreFound(t *testing.T) {
	unknown, missing := Difference([]string{"get secrets", "list pods"}, []string{"get secrets", "watch secrets"})
	assert.Equal(t, []string{"watch secrets"}, unknown)
	assert.Equal(t, []string{"list pods"}, missing)
}

// The page shows the matrix as it is; go test ./permissions -update writes it anew.
func TestThePageOnSecurityShowsTheMatrix(t *testing.T) {
	content, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(content), tableBegin)
	require.True(t, found, "%s has no %s", page, tableBegin)
	shown, after, found := strings.Cut(rest, tableEnd)
	require.True(t, found, "%s has no %s", page, tableEnd)
	want := "\n" + load(t).Markdown() + "\n"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+tableBegin+want+tableEnd+after), 0o600))
		return
	}
	assert.Equal(t, want, shown, "go test ./permissions -update, in e2e, writes it anew")
}
