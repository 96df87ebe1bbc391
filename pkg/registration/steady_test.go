package registration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatAnErrorSaysOfOneTryIsLeftOut(t *testing.T) {
	for name, pair := range map[string][2]string{
		"port": {
			"write tcp 127.0.0.1:4711->10.0.0.1:443: connection reset by peer", "write tcp 127.0.0.1:4712->10.0.0.1:443: connection reset by peer",
		},
		"clock": {
			"current time 2026-11-30T10:00:00Z is after 2026-01-01T00:00:00Z", "current time 2026-11-30T10:00:07Z is after 2026-01-01T00:00:00Z",
		},
	} {
		assert.Equal(t, Steady(pair[0], 200), Steady(pair[1], 200), name)
	}
	assert.Contains(t, Steady("write tcp 127.0.0.1:4711->10.0.0.1:443: connection reset by peer", 200), "10.0.0.1:443: connection reset")
	assert.Equal(t, "refused: (a credential) is over", Steady("refused: eyJhbGciOi.eyJpc3Mi.c2ln is over", 200))
	assert.Equal(t, "a b", Steady("a\nb", 200))
	assert.Equal(t, strings.Repeat("ä", 10)+"...", Steady(strings.Repeat("ä", 1000), 10))
}
