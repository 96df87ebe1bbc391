package register

import "time"

// Pace is every time that registration waits for. The zero value of a field means its default.
type Pace struct {
	// PollFirst and PollMax are the first and the longest pause between two looks for the credential.
	PollFirst, PollMax time.Duration
	// LookEvery is how often the request itself is read meanwhile.
	LookEvery time.Duration
	// RetryFirst and RetryMax are the pauses after a failure.
	RetryFirst, RetryMax time.Duration
	// Confirm is the least time between two 401 before they are believed: a server that restarts may say it once.
	Confirm time.Duration
	// RefusedRetry is how often a bootstrap token is tried again that the hub has refused.
	RefusedRetry time.Duration
	// ProveFor is how long a new credential may be refused before that is believed: its permissions take a moment.
	ProveFor time.Duration
	// Patience is how long a request may go unanswered before another is made.
	Patience time.Duration
}

func (p Pace) withDefaults() Pace {
	for _, f := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&p.PollFirst, 20 * time.Millisecond},
		{&p.PollMax, 2 * time.Second},
		{&p.LookEvery, 3 * time.Second},
		{&p.RetryFirst, 500 * time.Millisecond},
		{&p.RetryMax, time.Minute},
		{&p.Confirm, time.Second},
		{&p.RefusedRetry, time.Minute},
		{&p.ProveFor, 30 * time.Second},
		{&p.Patience, 30 * time.Minute},
	} {
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	return p
}
