package crdfacts

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rules collects the validation rules below a schema, by path.
func rules(path string, schema map[string]any, found map[string]string) {
	for _, validation := range array(schema, "x-kubernetes-validations") {
		found[path] = validation.(map[string]any)["rule"].(string)
	}
	for name, property := range object(schema, "properties") {
		rules(path+"."+name, property.(map[string]any), found)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if nested := object(schema, key); nested != nil {
			rules(path+"[]", nested, found)
		}
	}
}

func array(schema map[string]any, key string) []any {
	value, _ := schema[key].([]any)
	return value
}

func TestDurationsAreNumbersWithUnits(t *testing.T) {
	found := map[string]string{}
	for kind, crd := range definitions(t) {
		rules(kind, crd.Spec.Versions[0].Schema.OpenAPIV3Schema, found)
	}
	rule := found["ClusterRegistrationToken.spec.ttl"]
	for path, other := range found {
		if strings.Contains(other, "duration(") {
			assert.Equal(t, rule, other, path)
		}
	}
	match := regexp.MustCompile(`^self == '0' \|\| \(self\.matches\('(.+)'\) && duration\(self\) <= duration\('2562047h'\)\)$`).FindStringSubmatch(rule)
	require.NotNil(t, match, rule)
	pattern := regexp.MustCompile(match[1])

	for _, valid := range []string{"0s", "1h", "90m", "1h30m", "1.5h", ".5h", "300ms", "10us", "10µs", "1ns", "2562047h"} {
		assert.True(t, pattern.MatchString(valid), valid)
		_, err := time.ParseDuration(valid)
		assert.NoError(t, err, "the server must not accept what no program can read")
	}
	for _, invalid := range []string{"", "0", "1", "h", "1d", "-1h", "+1h", "1 h", "1h ", "1h\n", ".h", "1,5h", "PT1H"} {
		assert.False(t, pattern.MatchString(invalid), strings.ReplaceAll(invalid, "\n", `\n`))
	}
	for _, period := range []time.Duration{0, time.Nanosecond, 1500 * time.Microsecond, 36*time.Hour + 4*time.Second + 1} {
		assert.True(t, pattern.MatchString(period.String()), "%s, as Go writes it", period)
	}
}
