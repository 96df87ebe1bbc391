package registration

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTextOfSomebodysChoiceIsShortAndPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"ann":                    "ann",
		" ann \n":                "ann",
		"a\nb\x1b[31mc":          "a b [31mc",
		"\u202eevil":             "evil",
		"\xff\xfe":               "",
		"0123456789abc":          "0123456789",
		"äöüäöüäöüäöü":           "äöüäöüäöüä",
		"\u2028line\u2029":       "line",
		"0123456789\x00\x00\x00": "0123456789",
	} {
		assert.Equal(t, want, Printable(text, 10), "%q", text)
	}
}

func TestWhatWasReplacedIsSeen(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"ann":               "ann",
		"a\nb\x1b[31mc":     "a?b?[31mc",
		"\u202eevil":        "?evil",
		"\xff":              "?",
		"\u2028":            "?",
		"0123456789":        "0123456789",
		"0123456789a":       "0123456789...",
		"äöüäöüäöüäöü":      "äöüäöüäöüä...",
		"a \u00a0 no break": "a \u00a0 no bre...",
	} {
		assert.Equal(t, want, Shown(text, 10), "%q", text)
	}
}

func TestAPinIsTheSameWhoeverApprovedIt(t *testing.T) {
	pin := Pin{Fingerprint: testFingerprint, ClusterUID: "uid"}
	approved := Pin{Fingerprint: testFingerprint, ClusterUID: "uid", ApprovedBy: "ann", Request: "request-1"}
	assert.True(t, pin.Same(approved))
	assert.False(t, pin.Same(Pin{Fingerprint: testFingerprint, ClusterUID: "other"}))
	assert.False(t, pin.Same(Pin{Fingerprint: "other", ClusterUID: "uid"}))
}
