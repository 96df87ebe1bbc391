package registration

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestRandomHasTheFormOfTheWire(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		got, err := Random(rand.Reader)
		require.NoError(t, err)
		require.Len(t, got, 54)
		require.Empty(t, strings.Trim(got, "bcdfghjklmnpqrstvwxz2456789"), "a character of another alphabet")
		require.False(t, seen[got], "twice the same")
		seen[got] = true
	}
}

// Of 540,000 characters each of the 27 is expected 20,000 times, and six standard deviations are 833. Bytes taken modulo 27
// would make thirteen of them a ninth likelier than the rest: 21,094 to 18,984.
func TestRandomPrefersNoCharacter(t *testing.T) {
	const draws, expected, sixSigma = 10_000, 20_000, 833
	counts := map[rune]int{}
	for range draws {
		got, err := Random(rand.Reader)
		require.NoError(t, err)
		for _, r := range got {
			counts[r]++
		}
	}
	require.Len(t, counts, 27)
	for r, n := range counts {
		assert.InDelta(t, expected, n, sixSigma, "%c", r)
	}
}

// The bytes above the largest multiple of 27 are not used.
func TestRandomLeavesOutWhatWouldPrefer(t *testing.T) {
	got, err := Random(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{243, 255, 0}, 18)), bytes.NewReader(bytes.Repeat([]byte{1, 26, 27}, 18))))
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("b", 18)+strings.Repeat("c9b", 12), got)
}

func TestRandomNeedsItsRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	_, err := Random(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
	_, err = Random(bytes.NewReader(make([]byte, 53)))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	name, err := RequestName(iotest.ErrReader(broken))
	assert.ErrorIs(t, err, broken)
	assert.Empty(t, name)
}

func TestRequestNamesAreNames(t *testing.T) {
	name, err := RequestName(rand.Reader)
	require.NoError(t, err)
	assert.Len(t, name, 62)
	assert.Empty(t, validation.IsDNS1123Label(name))
	assert.True(t, strings.HasPrefix(name, "request-"))
}
