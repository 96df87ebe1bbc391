package provenance

import "time"

const (
	// settled is the pause between two looks where nothing happens.
	settled = time.Hour
	// unproved is that pause where there is no proof.
	unproved = 10 * time.Minute
)

// soon are the pauses after a change: API servers take up a policy a moment after it was stored, each in its own time.
var soon = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}

// pace is how the looks follow each other.
type pace struct {
	// step is how many looks there were since the last change, or since there is no proof.
	step int
	// changed says that looks follow a change, after which a good one is not the last word.
	changed bool
}

// afterChange is the pace when the policy has changed.
var afterChange = pace{changed: true}

// next is the pause after a look, and the pace from then on.
func (p pace) next(enforced bool) (time.Duration, pace) {
	switch {
	case enforced && !p.changed:
		return settled, pace{}
	case p.step < len(soon):
		return soon[p.step], pace{step: p.step + 1, changed: p.changed}
	case enforced:
		return settled, pace{}
	}
	return unproved, pace{step: p.step}
}
