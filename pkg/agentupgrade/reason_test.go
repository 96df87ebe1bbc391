package agentupgrade

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What an agent reports becomes a condition on the hub, and agents are not believed.
func TestWhatAnAgentReportsIsBounded(t *testing.T) {
	assert.Equal(t, CrashLoop, Reason("CrashLoop"))
	assert.Equal(t, Failed, Reason("a reason\nof its own"))
	assert.Equal(t, Failed, Reason(""))

	assert.Equal(t, "short", Message("short"))
	assert.Equal(t, "a b", Message("a\nb"))
	for _, long := range []string{strings.Repeat("x", 1000), strings.Repeat("é", 1000), strings.Repeat("世\x00", 1000)} {
		got := Message(long)
		assert.LessOrEqual(t, len(got), MaxMessage)
		assert.Greater(t, len(got), MaxMessage-4)
		assert.NotContains(t, got, "\x00")
	}
}
