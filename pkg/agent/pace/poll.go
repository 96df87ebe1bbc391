package pace

import "time"

// Poll is a row of pauses for who looks whether something is there, which may take milliseconds or seconds: each is half
// of the time that went by before, so that what came in the meantime has waited for no longer than half as long again as
// it took. The shortest is First, the longest Max.
type Poll struct {
	First, Max time.Duration
	Random     Random

	passed time.Duration
}

// Next is the next pause, with jitter.
func (p *Poll) Next() time.Duration {
	pause := min(max(p.First, p.passed/2), p.Max)
	p.passed += pause
	return Jitter(pause, p.Random)
}
