package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A job that runs the program looks for the line in its output.
func TestAnErrorIsOneLineForProgramsIfTheyAsk(t *testing.T) {
	for value, isJSON := range map[string]bool{"true": true, "TRUE": true, "1": true, "false": false, "": false, "maybe": false} {
		var out bytes.Buffer
		asked := ""
		printError(&out, func(name string) string { asked = name; return value }, errors.New("one \"a\"\x1b\ntwo"))
		assert.Equal(t, "FLEET_JSON_OUTPUT", asked)
		if !isJSON {
			assert.Equal(t, "fleet: one \"a\"?\ntwo\n", out.String(), value)
			continue
		}
		assert.Equal(t, 1, strings.Count(out.String(), "\n"))
		var line map[string]string
		require.NoError(t, json.Unmarshal(out.Bytes(), &line))
		assert.Equal(t, map[string]string{"fleetErrorMessage": "one \"a\"?\ntwo", "level": "fatal", "msg": "one \"a\"?\ntwo"}, line)
	}
	t.Setenv(jsonErrorsVariable, "true")
	code, _, errOut := typed("target", "-b", "/does/not/exist")
	assert.Equal(t, 1, code)
	assert.True(t, strings.HasPrefix(errOut, `{"fleetErrorMessage":"`), errOut)
}
