package crdfacts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFactsOfIncludedTypesStandAtTheirPlaces(t *testing.T) {
	facts := list{}
	require.NoError(t, facts.read(`
[shared]
b : string (required nullable)
[elements]
[] : object
[First]
spec.a : object
spec.a.c : string (default='x')
spec.own : string
include shared at spec.a.list[]
include elements at spec.a.list
include First.spec.a at spec.again
[Second]
spec.own : integer
include First.spec at spec without defaults
`))
	first, second := facts["First"], facts["Second"]
	assert.Equal(t, "spec.a.list[].b : string (nullable required)", first["spec.a.list[].b"].String())
	assert.Equal(t, "spec.again.c : string (default='x')", first["spec.again.c"].String())
	assert.Contains(t, first, "spec.again.list[].b")
	assert.Equal(t, "spec.a.list[] : object", first["spec.a.list[]"].String())
	assert.Equal(t, "spec.own : integer", second["spec.own"].String(), "what stands there wins over what is included")
	assert.Equal(t, "spec.a.c : string", second["spec.a.c"].String())
	assert.NotContains(t, second, "spec")
}

func TestMistakesInTheListAreErrors(t *testing.T) {
	for text, message := range map[string]string{
		"a : string":                        "before the first section",
		"[K]\na string":                     "is not a fact",
		"[K]\na : string\na : integer":      "twice",
		"[K]\ninclude Other at a":           "includes nothing",
		"[K]\ninclude Other":                "is not",
		"[K]\na : string\ninclude K.b at c": "includes nothing",
	} {
		assert.ErrorContains(t, list{}.read(text), message, text)
	}
	_, err := load("# nothing")
	assert.ErrorContains(t, err, "no kind")
}

func TestEveryKindHasFacts(t *testing.T) {
	facts, err := All()
	require.NoError(t, err)
	assert.Len(t, facts, 14)
	fields := 0
	for _, kind := range facts {
		fields += len(kind)
	}
	assert.Greater(t, fields, 1000)
}
