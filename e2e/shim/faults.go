package shim

import (
	"slices"
	"sync"
)

// Fault is what happens to a request instead of being forwarded and answered.
type Fault struct {
	forward bool
	then    action
	code    int
}

type action int

const (
	pass action = iota
	abort
	hang
	answer
)

var (
	// None forwards and answers; for a rule with Before.
	None = Fault{}
	// FailBefore breaks the connection; the server never sees the request.
	FailBefore = Fault{then: abort}
	// DropAnswer lets the server act and breaks the connection before its answer.
	DropAnswer = Fault{forward: true, then: abort}
	// HangBefore never answers, and the server never sees the request: a client killed now was killed before the call.
	HangBefore = Fault{then: hang}
	// HangAnswer lets the server act and never answers: a client killed now was killed right after the call.
	HangAnswer = Fault{forward: true, then: hang}
)

// Answer answers with this HTTP status in the server's place, which never sees the request.
func Answer(code int) Fault { return Fault{then: answer, code: code} }

// Rule picks requests and says what happens to them.
type Rule struct {
	// Match picks requests; all if nil.
	Match func(Request) bool
	// Skip lets so many of the picked ones pass first.
	Skip int
	// Times is how many are harmed; all until Remove if 0.
	Times int
	// Before is called first, while the request waits.
	Before func(Request)
	Fault  Fault
}

// Injection is a rule in force.
type Injection struct {
	rule    Rule
	rules   *rules
	seen    int
	done    chan struct{}
	removed chan struct{}

	mu   sync.Mutex
	hits []Request
}

// Done is closed when a request was harmed for the first time: with DropAnswer and HangAnswer, when the server has acted.
func (i *Injection) Done() <-chan struct{} { return i.done }

// Hits are the requests that were harmed so far.
func (i *Injection) Hits() []Request {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.hits)
}

// Remove ends the rule; connections that it left hanging break.
func (i *Injection) Remove() {
	i.rules.mu.Lock()
	defer i.rules.mu.Unlock()
	if at := slices.Index(i.rules.active, i); at >= 0 {
		i.rules.active = slices.Delete(i.rules.active, at, at+1)
		close(i.removed)
	}
}

func (i *Injection) hit(request Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hits = append(i.hits, request)
	if len(i.hits) == 1 {
		close(i.done)
	}
}

// Inject puts a rule in force. Of several rules that pick a request, the oldest has it.
func (s *TLS) Inject(rule Rule) *Injection {
	i := &Injection{rule: rule, rules: &s.rules, done: make(chan struct{}), removed: make(chan struct{})}
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	s.rules.active = append(s.rules.active, i)
	return i
}

// FaultNth harms the n-th of the matching requests from now on, counted from 1, and no other: for sweeps over all the
// points where a client can be interrupted.
func (s *TLS) FaultNth(n int, fault Fault, match func(Request) bool) *Injection {
	return s.Inject(Rule{Match: match, Skip: n - 1, Times: 1, Fault: fault})
}

// Writes matches the mutating requests on resources.
func Writes(r Request) bool { return r.Write() }

// rules are in the order of their age.
type rules struct {
	mu     sync.Mutex
	active []*Injection
}

// match finds the rule for a request; it counts for every rule that picks it.
func (r *rules) match(request Request) *Injection {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found *Injection
	for _, i := range r.active {
		if i.rule.Match != nil && !i.rule.Match(request) {
			continue
		}
		i.seen++
		n := i.seen - i.rule.Skip
		if found == nil && n > 0 && (i.rule.Times == 0 || n <= i.rule.Times) {
			found = i
		}
	}
	return found
}

// release ends all rules, so that nothing hangs on them.
func (r *rules) release() {
	r.mu.Lock()
	active := slices.Clone(r.active)
	r.mu.Unlock()
	for _, i := range active {
		i.Remove()
	}
}
