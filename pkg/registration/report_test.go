package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAnAgentsTextIsCutToWhatTheServerTakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "",
		"v1.2.3":                          "v1.2.3",
		strings.Repeat("x", 64):           strings.Repeat("x", 64),
		strings.Repeat("x", 65):           strings.Repeat("x", 64),
		strings.Repeat("日", 100):          strings.Repeat("日", 64),
		"\xff" + strings.Repeat("x", 100): "\xff" + strings.Repeat("x", 63),
	} {
		assert.Equal(t, want, AgentText(text))
	}
}
