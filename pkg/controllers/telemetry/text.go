package telemetry

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rancher/fleet/pkg/registration"
)

const (
	// maxMessage bounds the message of an Event, in bytes.
	maxMessage = 1024
	// maxReason bounds its reason.
	maxReason = 64
	// maxWho and maxWhy bound what a person gives as a name, and as a reason.
	maxWho, maxWhy = 128, 512
)

// bounded is a text of others, fit to be shown: in one line, without anything that a terminal acts upon or that turns
// the order of what is read, and not longer than max bytes.
func bounded(text string, max int) string {
	if len(text) > 4*max {
		text = text[:4*max]
	}
	text = registration.Shown(strings.Join(strings.Fields(text), " "), max)
	if len(text) <= max {
		return text
	}
	cut := max - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// oneWord is a reason as an Event may have it. Those of this hub are; a Cluster's status can be written by its agent.
func oneWord(reason string) string {
	if reason == "" || len(reason) > maxReason {
		return reasonOther
	}
	for _, r := range reason {
		if r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return reasonOther
		}
	}
	return reason
}

// reasonOther stands for a reason that is no word.
const reasonOther = "Other"
