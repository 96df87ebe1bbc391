package crdfacts

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

// A token's clusterName becomes the name of a Cluster: what the schema takes is what the API server takes for a name.
func TestAClusterNameIsOneThatAClusterCanHave(t *testing.T) {
	found := map[string]string{}
	for kind, crd := range definitions(t) {
		rules(kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema, found)
	}
	rule := found["ClusterRegistrationToken.spec.clusterName"]
	match := regexp.MustCompile(`^self == '' \|\| self\.matches\('(.+)'\)$`).FindStringSubmatch(rule)
	require.NotNil(t, match, rule)
	pattern := regexp.MustCompile(match[1])
	for _, name := range []string{
		"a", "edge-1", "a.b", "1.2.3", "a--b", strings.Repeat("x", 253),
		"-a", "a-", "a..b", ".a", "a.", "A", "a_b", "a b", "../a", "a/b", "\u00fc", "a\n",
	} {
		assert.Equal(t, len(validation.IsDNS1123Subdomain(name)) == 0, pattern.MatchString(name), "%q", name)
	}
}
