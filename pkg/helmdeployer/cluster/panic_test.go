package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// WatchUntilReady runs Helm in a goroutine of its own, where nobody else recovers.
func TestAPanicOfHelmIsAnError(t *testing.T) {
	err := safely(`hook Job "bye"`, func() error { panic("a surprise\n" + strings.Repeat("x", 10_000)) })
	require.ErrorContains(t, err, `hook Job "bye"`)
	require.ErrorContains(t, err, "a surprise x")
	assert.Less(t, len(err.Error()), 400)
	require.NoError(t, safely("nothing", func() error { return nil }))
}
