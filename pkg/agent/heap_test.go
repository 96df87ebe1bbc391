package agent

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheHeapIsKeptSmallUnlessSomebodySaysOtherwise(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	saveMemory(func(string) string { return "200" })
	assert.Equal(t, 100, debug.SetGCPercent(100))
	saveMemory(func(string) string { return "" })
	assert.Equal(t, heapGrowth, debug.SetGCPercent(100))
}
