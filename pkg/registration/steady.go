package registration

import (
	"regexp"
	"unicode/utf8"
)

// localPort is the end of a connection that changes with each try: a condition that names it would be written anew
// each time.
var localPort = regexp.MustCompile(`(read|write|dial) (tcp|udp) \S+->`)

// clockTime is in Go's words for a certificate that is out of time, and differs with each try as well.
var clockTime = regexp.MustCompile(`current time \S+ is (after|before)`)

// credentials are what a server, or a proxy on the way, may repeat in its answer.
var credentials = regexp.MustCompile(`eyJ[\w-]+\.[\w-]*\.?[\w-]*|(?i:bearer)\s+\S+`)

// Steady is what an error says, the same each time that the same happens, in one printable line of at most limit
// characters, then "...", and without credentials. It is for conditions: one that reads otherwise at each try would be a
// write, an event and another try without end.
func Steady(text string, limit int) string {
	text = Printable(text, 8*limit)
	text = localPort.ReplaceAllString(text, "$1 $2 ")
	text = clockTime.ReplaceAllString(text, "the hub's clock is $1")
	text = credentials.ReplaceAllString(text, "(a credential)")
	if utf8.RuneCountInString(text) > limit {
		return Printable(text, limit) + "..."
	}
	return text
}
