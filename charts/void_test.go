package charts

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// commentsAbove are, for each key of a values file, the comments above it and above what it lies in.
func commentsAbove(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	key := regexp.MustCompile(`^( *)([A-Za-z]+):`)
	comments := map[string]string{}
	var path []string
	var above string
	for _, line := range strings.Split(string(text), "\n") {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") {
			above += strings.TrimPrefix(trimmed, "#")
			continue
		}
		if found := key.FindStringSubmatch(line); found != nil {
			path = append(path[:min(len(path), len(found[1])/2)], found[2])
			comments[strings.Join(path, ".")] = comments[strings.Join(path[:len(path)-1], ".")] + above
		}
		above = ""
	}
	return comments
}

// Whoever sets a value that nothing acts on must find that beside it, as it stands in docs/contract.md.
func TestValuesThatNothingActsOnAreMarkedVoid(t *testing.T) {
	comments := commentsAbove(t, "fleet/values.yaml")
	contract, err := os.ReadFile("../docs/contract.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(contract), "\n## Configuration of the hub")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")

	void := map[string]bool{"controller.reconciler.workers.gitrepo": true}
	for _, line := range strings.Split(section, "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[3], "not acted on yet") {
			for _, key := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[1], -1) {
				void[inFull(cells[1], key[1])] = true
			}
		}
	}
	require.Greater(t, len(void), 2, "the table of the contract was found")
	for key := range void {
		key = strings.Replace(key, "agentWorkers.", "agent.reconciler.workers.", 1)
		comment, known := comments[key]
		assert.True(t, known, "%s is a value of the chart", key)
		assert.Regexp(t, `[Vv]oid yet`, comment, key)
	}
	for key, comment := range comments {
		if strings.Contains(comment, "Void yet") && isLeaf(comments, key) && !strings.HasPrefix(key, "controller.reconciler") {
			contractKey := strings.Replace(key, "agent.reconciler.workers.", "agentWorkers.", 1)
			assert.True(t, void[contractKey] || void[key], "%s is marked void, and docs/contract.md does not say so", key)
		}
	}
	for _, key := range []string{"agentCredential.lifetime", "registration.requireIdentity", "agentTLSMode", "agent.replicas", "bootstrap.repo", "agentUpgrade.soak", "garbageCollectionInterval", "registration.ttlUngranted",
		"controller.reconciler.workers.bundle", "controller.reconciler.workers.content", "agent.reconciler.workers.bundledeployment"} {
		assert.NotRegexp(t, `[Vv]oid yet`, comments[key], key)
	}
}

// isLeaf says that nothing lies in a key.
func isLeaf(comments map[string]string, key string) bool {
	for other := range comments {
		if strings.HasPrefix(other, key+".") {
			return false
		}
	}
	return true
}

// inFull completes a key that a cell shortens to what follows the last dot of its first.
func inFull(cell, key string) string {
	if !strings.HasPrefix(key, ".") {
		return key
	}
	first := regexp.MustCompile("`([^`]*)`").FindStringSubmatch(cell)[1]
	return first[:strings.LastIndex(first, ".")] + key
}
